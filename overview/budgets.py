"""Budgets of money or tokens by agent, as problems: at 80 % and at 100 % of what a day or a month may take."""

from collections.abc import Iterable

from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ledger.transcripts.turns import utc_day
from openclaw_web import clock
from openclaw_web.pages.formatting import money, tokens
from people.configuration.catalogue import ALL_AGENTS, USD, parse_budgets
from people.configuration.setting_values import get_texts
from problems.kinds import Facts, Finding, Kind, Link

from .models import AgentDailyStat

NEAR, REACHED = 80, 100  # percent
REACHED_SEVERITY, NEAR_SEVERITY = 73, 47
PERIODS = {
    "day": gettext_lazy("%(who)s: %(percent)s%% of the budget of this day (UTC) is used, %(spent)s of %(limit)s."),
    "month": gettext_lazy("%(who)s: %(percent)s%% of the budget of this month (UTC) is used, %(spent)s of %(limit)s."),
}


def check_budgets() -> Iterable[Finding]:
    """Yield budgets that are used up, or nearly, from the sums of days."""
    today = utc_day(clock.now_ms())
    for (agent, unit, period), limit in parse_budgets(get_texts("budget.limits")).items():
        first = today if period == "day" else f"{today[:8]}01"
        agent_id = "" if agent == ALL_AGENTS else agent
        days = AgentDailyStat.objects.filter(date__gte=first, date__lte=today)
        days = days.filter(agent_id=agent_id) if agent_id else days
        spent = days.aggregate(total=Sum("cost_usd" if unit == USD else "total_tokens"))["total"] or 0
        percent = int(100 * spent / limit)
        if percent >= NEAR:
            is_reached = percent >= REACHED
            facts = {"unit": unit, "period": period, "spent": spent, "limit": limit, "percent": percent}
            yield Finding(
                f"{agent} {unit} {period}",
                facts | {"first": first, "last": today},
                agent_id=agent_id,
                level=REACHED if is_reached else NEAR,
                severity=REACHED_SEVERITY if is_reached else NEAR_SEVERITY,
            )


def describe(facts: Facts) -> str:
    """Describe how much of a budget is used."""
    write = money if facts["unit"] == USD else tokens
    who = facts["agent"] or _("All agents")
    numbers = {name: write(facts[name]) for name in ("spent", "limit")}
    return PERIODS[facts["period"]] % {"who": who, "percent": facts["percent"], **numbers}


def link(facts: Facts) -> Link:
    """Link to the sums of agents in the days of the budget."""
    days = {"from": facts["first"], "to": facts["last"]}
    return Link(gettext_lazy("View agents"), "overview:agent_list", query=days)


BUDGET = Kind(
    label=gettext_lazy("Budget"),
    severity=REACHED_SEVERITY,
    describe=describe,
    link=link,
    role="viewer",
    check=check_budgets,
)
