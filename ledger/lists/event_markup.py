"""The HTML of the rows of records, put together as in session_markup."""

from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.lists.markup import NOTHING
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import moment, money, number, tokens

from ..words import EVENT_WORDS, said

ROW = (
    '<tr><td class="nowrap"><a href="../sessions/{place}">{time}</a></td>'
    '<td class="wide" data-label="%s"><span class="clamp" dir="auto">{text}</span></td>'
    '<td data-label="%s"><span class="badge badge--plain">{kind}</span>{failed}</td>'
    '<td class="small" data-label="%s">{tool}</td>'
    '<td class="medium" data-label="%s"><a class="clamp" href="../sessions/{session}/">{title}</a></td>'
    '<td class="num" data-label="%s">{turn}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s">{cost}</td></tr>'
)
FAILED = SafeString(' <span class="badge badge--failed">{}</span>')


def event_rows(labels, rows, titles):
    """The rows of a page of records as dictionaries; `titles` are those of their sessions."""
    row = labelled(ROW, labels)
    return SafeString("".join(_event_row(row, event, titles) for event in rows))


def _event_row(row, event, titles):
    session, record = quote(event["session_id"], safe=""), quote(event["record_id"] or "", safe="")
    return filled(
        row,
        place=SafeString(f"{session}/?record={record}#r-{record}" if record else f"{session}/"),
        session=SafeString(session),
        time=moment(event["created_at"]),
        text=glyphs.readable(event["text"]) or "–",
        kind=said(EVENT_WORDS.get(event["kind"], event["kind"])),
        failed=format_html(FAILED, _("Failed")) if event["is_failed"] else NOTHING,
        tool=glyphs.readable(event["tool_name"] or event["model"] or "–"),
        title=glyphs.readable(titles.get(event["session_id"]) or event["session_id"]),
        turn=SafeString(number(event["turn_number"])),
        tokens=SafeString(tokens(event["total_tokens"])),
        cost=SafeString("–" if event["cost_usd"] is None else money(event["cost_usd"])),
    )
