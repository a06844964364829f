"""The HTML of the rows of a session's tables of turns and of branches; for the reason message_markup gives."""

from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import labelled
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, duration, money, number, tokens

from ..words import said

WORDS = 160  # characters of a turn
TURN = (
    '<tr><th scope="row"><a href="{here}?turn={number}{branch}#t-{number}">{number}</a>{aside}</th>'
    '<td class="wide"><span class="clamp">{words}</span></td>'
    '<td class="turns__model" data-label="%s">{model}</td>'
    '<td class="num" data-label="%s">{input}</td>'
    '<td class="num" data-label="%s">{output}</td>'
    '<td class="num" data-label="%s">{cached}</td>'
    '<td class="num" data-label="%s">{cost}</td>'
    '<td class="num" data-label="%s">{latency}</td>'
    '<td class="num" data-label="%s">{calls}</td>'
    '<td class="num{bad}" data-label="%s">{errors}</td></tr>'
)
BRANCH = (
    '<tr><td class="wide"><a class="clamp" href="{here}?branch={leaf}">{words}</a></td>'
    '<td data-label="%s">{fork}</td>'
    '<td class="num" data-label="%s">{own}</td>'
    '<td class="num" data-label="%s">{ended}</td></tr>'
)
FORK = '<a href="{here}?branch={leaf}&amp;record={id}#r-{id}">{words}</a>'
ASIDE = ' <span class="badge badge--warn">{}</span>'
TURN_LABELS = (
    *(_("Model"), _("Tokens in"), _("Out"), _("Cached"), _("Cost"), _("Latency"), _("Tool calls"), _("Errors")),
)
BRANCH_LABELS = (_("Forks off"), _("Records of its own"), _("Ended"))
NOTHING = SafeString("")


def turn_rows(turns, here):
    """The rows of a table of turns (ConversationTurn), without the table; `here` is the transcript's address."""
    row = labelled(TURN, TURN_LABELS)
    return SafeString("".join(_turn(row, turn, here) for turn in turns))


def branch_rows(branches, here):
    """The rows of a table of branches (`forks.Branch`, described); `here` is the transcript's address."""
    row = labelled(BRANCH, BRANCH_LABELS)
    return SafeString("".join(_branch(row, branch, here) for branch in branches))


def _turn(row, turn, here):
    words = " ".join(turn.user_message_content[: WORDS * 4].split())[:WORDS]
    return format_html(
        row,
        here=here,
        number=turn.turn_number,
        branch=NOTHING if turn.is_active else SafeString("&amp;branch=all"),
        aside=NOTHING if turn.is_active else format_html(ASIDE, said("other branch")),
        words=glyphs.readable(words or "–"),
        model=glyphs.readable(turn.model or "–"),
        input=tokens(turn.input_tokens),
        output=tokens(turn.output_tokens),
        cached=tokens(turn.cache_read_tokens),
        cost=money(turn.cost_usd),
        latency=duration(turn.latency_ms),
        calls=number(turn.tool_call_count),
        bad=SafeString(" bad") if turn.error_count else NOTHING,
        errors=number(turn.error_count),
    )


def _branch(row, branch, here):
    leaf, fork = SafeString(quote(branch.leaf_id, safe="")), SafeString(quote(branch.fork_id, safe=""))
    at = glyphs.readable(branch.fork_id)
    return format_html(
        row,
        here=here,
        leaf=leaf,
        words=glyphs.readable(branch.words or branch.leaf_id),
        fork=format_html(FORK, here=here, leaf=leaf, id=fork, words=at) if branch.fork_id else said("the beginning"),
        own=number(branch.record_count),
        ended=ago(branch.ended_at),
    )
