"""The HTML of the rows of the lists of records and turns: quicker than a template (see message_markup)."""

from html import escape
from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.templatetags.formatting import duration, moment, money, number, tokens

from . import glyphs, listing, session_markup
from .words import EVENT_WORDS, said

NOTHING = SafeString("")
# Name in ORDERS (or nothing), label, whether it is a number.
SESSION_COLUMNS = (
    ("", _("Session"), False),
    ("", _("From"), False),
    ("turns", _("Turns"), True),
    ("", _("Records"), True),
    ("tokens", _("Tokens"), True),
    ("cost", _("Cost"), True),
    ("errors", _("Errors"), True),
    ("started", _("Started"), True),
    ("activity", _("Last activity"), True),
)
EVENT_COLUMNS = (
    ("time", _("Time (UTC)"), False),
    ("", _("Begins with"), False),
    ("", _("Kind"), False),
    ("", _("Tool or model"), False),
    ("", _("Session"), False),
    ("", _("Turn"), True),
    ("", _("Tokens"), True),
    ("", _("Cost"), True),
)
TURN_COLUMNS = (
    ("time", _("Time (UTC)"), False),
    ("", _("User and reply"), False),
    ("", _("Session"), False),
    ("", _("Model"), False),
    ("", _("Calls"), True),
    ("", _("Errors"), True),
    ("", _("Tokens"), True),
    ("", _("Cost"), True),
    ("", _("Took"), True),
)
SESSION_FIELDS = (
    *("id", "title", "session_key", "channel_id", "origin", "source_state", "model", "created_at", "last_activity_at"),
    *("turn_count", "record_count", "tool_call_count", "error_count", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "total_tokens", "cost_usd"),
)
EVENT_FIELDS = (*listing.EVENT_COLUMNS, "record_id", "text")
TURN_FIELDS = (*listing.TURN_COLUMNS, "user", "reply")
EVENT_ROW = (
    '<tr><td class="nowrap"><a href="../sessions/{place}">{time}</a></td>'
    '<td class="wide" data-label="%(begins)s"><span class="clamp" dir="auto">{text}</span></td>'
    '<td data-label="%(kind)s"><span class="badge badge--plain">{kind}</span>{failed}</td>'
    '<td class="small" data-label="%(tool)s">{tool}</td>'
    '<td class="medium" data-label="%(session)s"><a class="clamp" href="../sessions/{session}/">{title}</a></td>'
    '<td class="num" data-label="%(turn)s">{turn}</td>'
    '<td class="num" data-label="%(tokens)s">{tokens}</td>'
    '<td class="num" data-label="%(cost)s">{cost}</td></tr>'
)
TURN_ROW = (
    '<tr><td class="nowrap"><a href="../sessions/{session}/?turn={number}">{time}</a></td>'
    '<td class="wide" data-label="%(user)s"><div><span class="clamp" dir="auto">{user}</span>'
    '<span class="clamp muted" dir="auto">{reply}</span></div></td>'
    '<td class="medium" data-label="%(session)s"><a class="clamp" href="../sessions/{session}/">{title}</a></td>'
    '<td class="nowrap small" data-label="%(model)s">{model}</td>'
    '<td class="num" data-label="%(calls)s">{calls}</td>'
    '<td class="num{bad}" data-label="%(errors)s">{errors}</td>'
    '<td class="num" data-label="%(tokens)s">{tokens}</td>'
    '<td class="num" data-label="%(cost)s">{cost}</td>'
    '<td class="num" data-label="%(took)s">{took}</td></tr>'
)
LABELS = {
    "begins": _("Begins with"),
    "calls": _("Calls"),
    "cost": _("Cost"),
    "errors": _("Errors"),
    "kind": _("Kind"),
    "model": _("Model"),
    "session": _("Session"),
    "tokens": _("Tokens"),
    "took": _("Took"),
    "tool": _("Tool or model"),
    "turn": _("Turn"),
    "user": _("User and reply"),
}
FAILED = SafeString(' <span class="badge badge--failed">{}</span>')
session_rows = session_markup.rows


def event_rows(events, titles):
    """The rows of a page of `listing.event_rows`; `titles` are those of their sessions."""
    row = _labelled(EVENT_ROW)
    return SafeString("".join(_event_row(row, event, titles) for event in events))


def turn_rows(turns, titles):
    """The rows of a page of `listing.turn_rows`; `titles` are those of their sessions."""
    row = _labelled(TURN_ROW)
    return SafeString("".join(_turn_row(row, turn, titles) for turn in turns))


def event_shape(event):
    """A row of `listing.event_rows` as files tell it."""
    return {name: event[name] for name in EVENT_FIELDS[:-1]} | {"text": listing.beginning(event["body"])}


def _labelled(row):
    return row % {name: escape(str(label)).replace("{", "{{").replace("}", "}}") for name, label in LABELS.items()}


def _event_row(row, event, titles):
    session, record = quote(event["session_id"], safe=""), quote(event["record_id"] or "", safe="")
    return format_html(
        row,
        place=SafeString(f"{session}/?record={record}#r-{record}" if record else f"{session}/"),
        session=SafeString(session),
        time=moment(event["created_at"]),
        text=glyphs.readable(listing.beginning(event["body"])) or "–",
        kind=said(EVENT_WORDS.get(event["kind"], event["kind"])),
        failed=format_html(FAILED, _("Failed")) if event["is_failed"] else NOTHING,
        tool=glyphs.readable(event["tool_name"] or event["model"] or "–"),
        title=glyphs.readable(titles.get(event["session_id"]) or event["session_id"]),
        turn=SafeString(number(event["turn_number"])),
        tokens=SafeString(tokens(event["total_tokens"])),
        cost=SafeString("–" if event["cost_usd"] is None else money(event["cost_usd"])),
    )


def _turn_row(row, turn, titles):
    return format_html(
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
