"""The HTML of the rows of the list of sessions: quicker than a template, for the reason message_markup gives."""

from html import escape
from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.templatetags.formatting import ago, money, number, tokens

from . import glyphs
from .words import STATE_WORDS

NOTHING = SafeString("")
# The column names (for narrow screens) are filled in first, once for all rows.
ROW = (
    '<tr><td class="wide"><a class="clamp" href="{address}/">{title}</a></td>'
    '<td data-label="%(origin)s"><span class="row"><span class="badge badge--plain">{channel}</span>'
    '<span class="muted">{origin}</span>{state}</span></td>'
    '<td class="num" data-label="%(turns)s">{turns}</td>'
    '<td class="num" data-label="%(records)s">{records}</td>'
    '<td class="num" data-label="%(tokens)s">{tokens}</td>'
    '<td class="num" data-label="%(cost)s">{cost}</td>'
    '<td class="num{bad}" data-label="%(errors)s">{errors}</td>'
    '<td class="num" data-label="%(started)s">{started}</td>'
    '<td class="num" data-label="%(activity)s">{activity}</td></tr>'
)
STATE = '<span class="badge badge--warn">{}</span>'
COLUMNS = {
    "origin": _("From"),
    "turns": _("Turns"),
    "records": _("Records"),
    "tokens": _("Tokens"),
    "cost": _("Cost"),
    "errors": _("Errors"),
    "started": _("Started"),
    "activity": _("Last activity"),
}


def rows(sessions):
    """The rows of a list of sessions, without the table around them."""
    names = {name: escape(str(label)).replace("{", "{{").replace("}", "}}") for name, label in COLUMNS.items()}
    row = ROW % names
    return SafeString("".join(_row(row, session) for session in sessions))


def _row(row, session):
    known = session.origin not in ("unknown", session.channel_id)
    live = session.source_state == session.State.LIVE
    return format_html(
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
