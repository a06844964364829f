"""The HTML of the runs of a job, put together as ledger.lists.markup does."""

from html import escape

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.lists.filters import labelled
from openclaw_web.pages.formatting import duration, moment
from openclaw_web.pages.glyphs import plain, readable

from .schedules import FAILED, SUCCEEDED, outcome

SUMMARY_CHARACTERS = 20_000
SHORT = 200  # characters of a summary that are shown without opening it
ERROR_CHARACTERS = 500
ROW = (
    '<tr><th scope="row" class="nowrap">{when}</th>'
    '<td data-label="%s"><span class="badge{tone}">{status}</span></td>'
    '<td class="wide break">{error}{summary}</td>'
    '<td class="num" data-label="%s">{took}</td></tr>'
)
TONES = {SUCCEEDED: SafeString(" badge--ok"), FAILED: SafeString(" badge--bad")}
NOTHING = SafeString("")


def runs(page, addresses):
    """The rows of a page of runs; `addresses` says where their sessions are."""
    row, title = labelled(ROW, [_("Status"), _("Took")]), _("Its session")
    return SafeString("".join(_row(row, run, addresses.get(run.session_id), title) for run in page))


def _row(row, run, address, title):
    when = moment(run.ts)
    link = format_html('<a href="{}" title="{}">{}</a>', address, title, when) if address else when
    error = readable(Truncator(run.error).chars(ERROR_CHARACTERS))
    return format_html(
        row,
        when=link,
        tone=TONES.get(outcome(run.status), NOTHING),
        status=plain(run.status) or "–",
        error=format_html('<div class="bad">{}</div>', error) if error else NOTHING,
        summary=_summary(run.summary) if run.summary != run.error else NOTHING,
        took=SafeString(escape(duration(run.duration_ms))),
    )


def _summary(text):
    if len(text) <= SHORT:
        return readable(text)
    shown, left = readable(text[:SUMMARY_CHARACTERS]), len(text) - SUMMARY_CHARACTERS
    if left > 0:
        more = ngettext("%(count)s character more", "%(count)s characters more", left) % {"count": f"{left:,}"}
        shown = format_html("{} … {}", shown, more)
    return format_html(
        '<details class="fold"><summary>{}</summary><pre class="log">{}</pre></details>', plain(text[:SHORT]), shown
    )
