"""The HTML around the messages of a transcript: the line above a turn, the ways to other branches below a record."""

from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import duration, moment, money, tokens

from ..words import said as _

NOTHING = SafeString("")
LINES = 3  # branches named at one record; the others are on the page of branches
TURN_HEAD = (
    '<header class="turn__head"><h2><a href="?turn={number}#t-{number}">{turn} {number}</a>{continued}</h2>'
    "{began}<span>{model}</span>"
    '<span class="turn__sums">{figures}{sample}{pick}</span></header>'
)
CONTINUED = ' <span class="muted">{}</span>'
SAMPLE = '<a id="sample-of-{}" hidden></a>'  # filled by what knows of samples, once the page is there
PICK = '<label class="turn__pick"><input type="checkbox" name="turn" value="{}" form="make-samples"> {}</label>'
FIGURES = '<span class="turn__figures" id="sums-{}"{}>{}<span>{}</span></span>'
ERRORS = '<span class="bad">{}</span>'
SWITCHER = '<p class="branch">{}{}{}</p>'
OTHER = ' <a href="?branch={0}&amp;record={1}#r-{1}">{2}</a> <span>{3}</span>'
ROOT = ' <a href="?branch={0}">{2}</a> <span>{3}</span>'
ACTIVE = ' <a href="?record={0}#r-{0}">{1}</a>'
ALL = ' <a href="branches/">{}</a>'


def turn_head(section, may_label):
    """The line above a turn: its number, time, model and sums, and for labellers the box that chooses it."""
    number = SafeString(section.name)
    pick = may_label and section.may_be_sample
    return format_html(
        TURN_HEAD,
        number=number,
        turn=_("Turn"),
        continued=format_html(CONTINUED, _("continued")) if section.is_continued else NOTHING,
        began=moment(section.turn["created_at"]),
        model=glyphs.plain(section.turn["model"] or ""),
        figures=figures(section.turn, section.html_id),
        sample=format_html(SAMPLE, number) if section.may_be_sample else NOTHING,
        pick=format_html(PICK, number, _("sample")) if pick else NOTHING,
    )


def figures(turn, html_id, *, again=False):
    """What a turn adds up to; `again` to take the place of the one on a page (HTMX, out of band)."""
    failed = turn["error_count"]
    swap = SafeString(' hx-swap-oob="true"') if again else NOTHING
    return format_html(FIGURES, html_id, swap, format_html(ERRORS, errors(failed)) if failed else NOTHING, sums(turn))


def new_figures(turn, html_id):
    """The sums of a turn for a page that shows older ones."""
    return figures(turn, html_id, again=True)


def sums(turn):
    """What a turn adds up to: `3 calls · 25.6k tokens · $0.07 · 117 ms`."""
    found = []
    if calls := turn["tool_call_count"]:
        found.append(ngettext("%(count)s call", "%(count)s calls", calls) % {"count": f"{calls:,}"})
    if turn["total_tokens"]:
        count = turn["total_tokens"]
        found.append(ngettext("%(count)s token", "%(count)s tokens", count) % {"count": tokens(count)})
    if turn["cost_usd"]:
        found.append(money(turn["cost_usd"]))
    if turn["latency_ms"] is not None:
        found.append(duration(turn["latency_ms"]))
    return " · ".join(found)


def errors(count):
    """`2 errors`."""
    return ngettext("%(count)s error", "%(count)s errors", count) % {"count": f"{count:,}"}


def switcher(branches):
    """One line with the other branches (ledger.transcripts.forks.Branch) that go on from a record."""
    count = len(branches)
    words = ngettext("%(count)s other branch from here:", "%(count)s other branches from here:", count)
    links = SafeString("".join(map(_branch, branches[:LINES])))
    rest = format_html(ALL, _("all of them")) if count > LINES else NOTHING
    return format_html(SWITCHER, words % {"count": count}, links, rest)


def _branch(branch):
    fork = SafeString(quote(branch.fork_id, safe=""))
    if not branch.leaf_id:
        return format_html(ACTIVE, fork, _("the one the session ended with"))
    count = branch.record_count
    length = ngettext("%(count)s record", "%(count)s records", count) % {"count": f"{count:,}"}
    words = glyphs.readable(branch.words or branch.leaf_id)
    return format_html(OTHER if fork else ROOT, SafeString(quote(branch.leaf_id, safe="")), fork, words, length)
