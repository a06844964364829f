"""Declares the list of groups of errors, of all agents or of one."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import replace

from django import forms
from django.db.models import F, QuerySet, Value
from django.utils.translation import gettext_lazy, ngettext

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.pages.small_charts import Sparkline, sparkline
from problems.models import ErrorDay, ErrorGroup, ErrorSum
from problems.problem_list import SEGMENTS
from problems.words import state_of

from ..transcripts.turns import utc_day
from .error_sums import DAY_MS

TREND_DAYS = 30
COLUMNS = {"tool": "tool", "model": "model", "error": "id", "q": "message__icontains"}
FIELDS = file_columns(ErrorGroup, "id", "tool", "model", "message")
OF_SUM = ("count", "session_count", "first_at", "last_at")  # those of one agent stand in its own row
OF_GROUP = {name: F(f"group__{name}") for name in FIELDS if name not in (*OF_SUM, "agent_count")}


class ErrorFilters(DayFilters):
    """The filters of the list of errors; the days are those of the last occurrence."""

    SEGMENTS = replace(SEGMENTS, label=gettext_lazy("Errors"))
    ORDERS, DEFAULT = {"last": ("last_at", "id"), "count": ("count", "id")}, "-last"
    HIDDEN = ("error",)
    DESCRIPTIONS = {"error": "the id of a group", "q": "words of the normalised message"}
    q = forms.CharField(label=gettext_lazy("Search messages"), required=False, max_length=200)
    tool = forms.CharField(label=gettext_lazy("Tool"), required=False, max_length=256)
    model = forms.CharField(label=gettext_lazy("Model"), required=False, max_length=500)
    error = forms.CharField(label=gettext_lazy("Error"), required=False, max_length=40)


def fits(whose, *, sort=ErrorFilters.DEFAULT, segment="", agent="", **criteria) -> Listing:
    """The groups that fit, with the numbers of one agent or of all together."""
    agent_id = whose.agent_id if isinstance(whose, Agent) else agent
    of_agent = ErrorSum.objects.filter(agent_id=agent_id).annotate(agent_count=Value(1), **OF_GROUP)
    conditions = [*SEGMENTS.term(segment), *build_terms(criteria, COLUMNS, moment="last_at")]
    order = get_order_columns(ErrorFilters.ORDERS, sort)
    return build_listing(of_agent if agent_id else ErrorGroup.objects.all(), conditions, order=order)


def read_agents(group_ids: Collection[str]) -> dict[str, dict[str, int]]:
    """The agents with errors of some groups, by group: most errors first, each with their number."""
    agents: dict[str, dict[str, int]] = defaultdict(dict)
    rows = ErrorSum.objects.filter(group_id__in=group_ids).order_by()
    for group_id, agent_id, count in sorted(rows.values_list("group_id", "agent_id", "count"), key=lambda row: -row[2]):
        agents[group_id][agent_id] = count
    return agents


def _read_trends(group_ids, whose) -> dict[str, Sparkline | None]:
    """The days of the last month as small bars, by group."""
    now = clock.now_ms()
    dates = [utc_day(now - days * DAY_MS) for days in reversed(range(TREND_DAYS))]
    rows = ErrorDay.objects.filter(group_id__in=group_ids, date__gte=dates[0])
    rows = rows.filter(agent_id=whose.agent_id) if isinstance(whose, Agent) else rows
    counts: Counter[tuple[str, str]] = Counter()
    for group_id, date, count in rows.order_by().values_list("group_id", "date", "count"):
        counts[group_id, date] += count
    trends = {group_id: [counts[group_id, date] for date in dates] for group_id in group_ids}
    return {group_id: sparkline(values, label=_describe_trend(sum(values))) for group_id, values in trends.items()}


def _describe_trend(count):
    words = ngettext("%(count)s in the last 30 days", "%(count)s in the last 30 days", count)
    return words % {"count": f"{count:,}"}


def _prepare(page, _filters, whose):
    group_ids = [row.id for row in page]
    agents, trends = read_agents(group_ids), _read_trends(group_ids, whose)
    return {"rows": [(row, agents[row.id], trends[row.id], state_of(row)) for row in page]}


def read_values(rows: QuerySet) -> QuerySet:
    """The columns of groups, as dictionaries."""
    return rows.values(*FIELDS)


ERRORS = List(
    on="errors",
    words=Words(
        counted=ngettext_lazy("%(shown)s kind of error", "%(shown)s kinds of errors", "count"),
        uncounted=gettext_lazy("Errors"),
        none=gettext_lazy("No errors yet"),
        how=gettext_lazy("An import lists here failed calls of tools and models, grouped by their message."),
        is_imported=True,
        icon="check-circle",
    ),
    filters=ErrorFilters,
    fits=fits,
    columns=(
        ("", gettext_lazy("Message"), False, TITLE),
        ("", gettext_lazy("Tool or model"), False, PLAIN),
        ("", gettext_lazy("Agents"), False),
        ("count", gettext_lazy("Total errors"), True, NAMED),
        ("", gettext_lazy("Total sessions"), True),
        ("", gettext_lazy("Trend"), False),
        ("", gettext_lazy("First"), False),
        ("last", gettext_lazy("Last"), False, PLAIN),
        ("", gettext_lazy("Status"), False, PLAIN),
    ),
    table=ErrorGroup,
    fields=FIELDS,
    prepare=_prepare,
    file=read_values,
)
