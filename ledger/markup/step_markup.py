"""The HTML of the rows of a session's table of steps; for the reason message_markup gives."""

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import labelled
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import moment, money, tokens

from ..session import steps
from ..words import said

SHORT = 60  # characters of a word or a name
STEP = (
    '<tr><th scope="row"><a class="nowrap" href="{href}">{type}</a>{failed}</th>'
    '<td class="wide" data-label="%s"><span class="clamp">{words}</span>'
    '<div class="small"><span class="muted mono">{run}</span>{given}</div></td>'
    '<td class="num" data-label="%s">{input}</td>'
    '<td class="num" data-label="%s">{output}</td>'
    '<td class="num" data-label="%s">{cost}</td>'
    '<td class="num" data-label="%s">{time}</td></tr>'
)
LABELS = (_("What"), _("Tokens in"), _("Out"), _("Cost"), _("Time"))
FAILED = ' <span class="badge badge--failed">{}</span>'
GIVEN = ' · <a href="{}">{}</a>'
NOTHING = SafeString("")


def step_rows(page, agent_id):
    """The rows of a table of steps (TrajectoryEvent) of an agent, without the table around them."""
    row = labelled(STEP, LABELS)
    return SafeString("".join(_step(row, step, agent_id) for step in page))


def _step(row, step, agent_id):
    told = steps.told(step)
    links = [(reverse("artifacts:artifact_detail", args=[agent_id, sha]), label) for label, sha in told.given]
    return format_html(
        row,
        href=reverse("ledger:step_detail", args=[agent_id, step.session_id, step.id]),
        type=glyphs.readable(step.type[:SHORT]),
        failed=format_html(FAILED, said("failed")) if told.is_failed else NOTHING,
        words=glyphs.readable(" · ".join(word[:SHORT] for word in told.words) or "–"),
        given=format_html_join("", GIVEN, links),
        input=_count(told.usage.get("input")),
        output=_count(told.usage.get("output")),
        cost=money(_number(told.usage.get("cost"))) if told.usage else "–",
        run=glyphs.readable(_short(step.run_id)),
        time=moment(step.created_at or None),
    )


def _short(name):
    return f"…{name[-12:]}" if len(name) > 16 else name or "–"


def _number(value):
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53 else None


def _count(value):
    found = _number(value)
    return tokens(int(found)) if found is not None else "–"
