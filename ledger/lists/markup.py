"""The HTML of the rows of the lists of sessions, records and turns: quicker than a template (see message_markup)."""

from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import cell_labels, filled, labelled
from openclaw_web.pages import glyphs
from openclaw_web.templatetags.formatting import ago, duration, moment, money, number, tokens

from ..words import EVENT_WORDS, STATE_WORDS, said
from . import listing

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
SESSION_ROW = (
    '<tr><td class="wide"><a class="clamp" href="{address}/">{title}</a></td>'
    '<td data-label="%s"><span class="row"><span class="badge badge--plain">{channel}</span>'
    '<span class="muted">{origin}</span>{state}</span></td>'
    '<td class="num" data-label="%s">{turns}</td>'
    '<td class="num" data-label="%s">{records}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s">{cost}</td>'
    '<td class="num{bad}" data-label="%s">{errors}</td>'
    '<td class="num" data-label="%s">{started}</td>'
    '<td class="num" data-label="%s">{activity}</td></tr>'
)
EVENT_ROW = (
    '<tr><td class="nowrap"><a href="../sessions/{place}">{time}</a></td>'
    '<td class="wide" data-label="%s"><span class="clamp" dir="auto">{text}</span></td>'
    '<td data-label="%s"><span class="badge badge--plain">{kind}</span>{failed}</td>'
    '<td class="small" data-label="%s">{tool}</td>'
    '<td class="medium" data-label="%s"><a class="clamp" href="../sessions/{session}/">{title}</a></td>'
    '<td class="num" data-label="%s">{turn}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s">{cost}</td></tr>'
)
TURN_ROW = (
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
FAILED = SafeString(' <span class="badge badge--failed">{}</span>')
STATE = '<span class="badge badge--warn">{}</span>'


def session_rows(sessions):
    """The rows of a page of Session."""
    row = labelled(SESSION_ROW, cell_labels(SESSION_COLUMNS))
    return SafeString("".join(_session_row(row, session) for session in sessions))


def event_rows(events, titles):
    """The rows of a page of `listing.event_rows`; `titles` are those of their sessions."""
    row = labelled(EVENT_ROW, cell_labels(EVENT_COLUMNS))
    return SafeString("".join(_event_row(row, event, titles) for event in events))


def turn_rows(turns, titles):
    """The rows of a page of `listing.turn_rows`; `titles` are those of their sessions."""
    row = labelled(TURN_ROW, cell_labels(TURN_COLUMNS))
    return SafeString("".join(_turn_row(row, turn, titles) for turn in turns))


def turn_shape(turn):
    """A row of `listing.turn_rows` as files tell it."""
    return {name: turn[name] for name in TURN_FIELDS}


def event_shape(event):
    """A row of `listing.event_rows` as files tell it."""
    return {name: event[name] for name in EVENT_FIELDS[:-1]} | {"text": listing.beginning(event["body"])}


def _session_row(row, session):
    known = session.origin not in ("unknown", session.channel_id)
    live = session.source_state == session.State.LIVE
    return filled(
        row,
        address=SafeString(quote(session.id, safe="")),
        title=glyphs.readable(session.title or session.id),
        channel=glyphs.readable(session.channel_id),
        origin=glyphs.readable(session.origin) if known else NOTHING,
        state=NOTHING if live else format_html(STATE, STATE_WORDS.get(session.source_state, session.source_state)),
        turns=SafeString(number(session.turn_count)),
        records=SafeString(number(session.record_count)),
        tokens=SafeString(tokens(session.total_tokens)),
        cost=SafeString(money(session.cost_usd)),
        bad=SafeString(" bad") if session.error_count else NOTHING,
        errors=SafeString(number(session.error_count)),
        started=ago(session.created_at),
        activity=ago(session.last_activity_at),
    )


def _event_row(row, event, titles):
    session, record = quote(event["session_id"], safe=""), quote(event["record_id"] or "", safe="")
    return filled(
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
