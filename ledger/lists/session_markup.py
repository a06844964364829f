"""The HTML of the rows of sessions: quicker than a template (see ledger.markup.message_markup)."""

from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.lists.markup import NOTHING
from openclaw_web.pages import glyphs
from openclaw_web.templatetags.formatting import ago, money, number, tokens

from ..words import STATE_WORDS

ROW = (
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
STATE = '<span class="badge badge--warn">{}</span>'


def session_rows(labels, rows):
    """The rows of a page of Session."""
    row = labelled(ROW, labels)
    return SafeString("".join(_session_row(row, session) for session in rows))


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
