"""The HTML of the rows of turns, put together as in session_markup."""

from urllib.parse import quote

from django.utils.safestring import SafeString

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.lists.markup import NOTHING
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import duration, moment, money, number, tokens

ROW = (
    '<tr><td class="nowrap"><a href="../sessions/{session}/?turn={number}">{time}</a></td>'
    '<td class="wide" data-label="%s"><div><span class="clamp" dir="auto">{user}</span>'
    '<span class="clamp muted" dir="auto">{reply}</span></div></td>'
    '<td class="medium" data-label="%s"><a class="clamp" href="../sessions/{session}/">{title}</a></td>'
    '<td class="nowrap small" data-label="%s">{model}</td>'
    '<td class="num" data-label="%s">{calls}</td>'
    '<td class="num{bad}" data-label="%s">{errors}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s">{cost}</td>'
    '<td class="num" data-label="%s">{took}</td></tr>'
)


def turn_rows(labels, rows, titles):
    """The rows of a page of turns as dictionaries; `titles` are those of their sessions."""
    row = labelled(ROW, labels)
    return SafeString("".join(_turn_row(row, turn, titles) for turn in rows))


def _turn_row(row, turn, titles):
    return filled(
        row,
        session=SafeString(quote(turn["session_id"], safe="")),
        number=SafeString(turn["turn_number"]),
        time=moment(turn["created_at"]),
        user=glyphs.readable(turn["user"]) or "–",
        reply=glyphs.readable(turn["reply"]) or "–",
        title=glyphs.readable(titles.get(turn["session_id"]) or turn["session_id"]),
        model=glyphs.readable(turn["model"] or "–"),
        calls=SafeString(number(turn["tool_call_count"])),
        bad=SafeString(" bad") if turn["error_count"] else NOTHING,
        errors=SafeString(number(turn["error_count"])),
        tokens=SafeString(tokens(turn["total_tokens"])),
        cost=SafeString(money(turn["cost_usd"])),
        took=SafeString(duration(turn["latency_ms"])),
    )
