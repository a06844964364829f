"""What agents did, from the global sums alone: totals, days, and a row for each agent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.db.models import Max, Min, Sum
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ledger.transcripts.rows import added_up
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.formatting import day_in_words
from openclaw_web.sqlite.fields import KnownCost
from openclaw_web.sqlite.time_limits import time_box

from .models import AgentDailyStat, AgentSummary

RANGES = {"7": 7, "35": 35, "90": 90, "all": None}
DEFAULT_RANGE = "35"
STEPS = {1: gettext_lazy("Day"), 7: gettext_lazy("Week"), 28: gettext_lazy("4 weeks"), 364: gettext_lazy("52 weeks")}
MOST_BARS = 100
ADDING_MS = 50

SUMS = ("session_count", "turn_count", "error_count", "total_tokens", "cost_usd", "unpriced_tokens", "rejected_count")
COLUMNS = {
    "agent_id": gettext_lazy("Agent"),
    "session_count": gettext_lazy("Sessions"),
    "turn_count": gettext_lazy("Turns"),
    "error_count": gettext_lazy("Errors"),
    "total_tokens": gettext_lazy("Tokens"),
    "cost_usd": gettext_lazy("Cost"),
    "rejected_count": gettext_lazy("Rejected records"),
    "last_activity_at": gettext_lazy("Last activity"),
    "last_collected_at": gettext_lazy("Last import"),
}
NOTHING = {"cost_usd": None}  # what stands where nothing adds up
DAILY_SUMS = ("turn_count", "tool_call_count", "error_count", "total_tokens", "cost_usd", "unpriced_tokens")


@dataclass(frozen=True, slots=True)
class Period:
    """Whole UTC days, the last one included."""

    start: date
    end: date

    def __str__(self):
        if self.start == self.end:
            return day_in_words(self.end)
        first = day_in_words(self.start, has_year=self.start.year != self.end.year)
        return f"{first} – {day_in_words(self.end)}"

    @property
    def days(self):
        """How many days it has."""
        return (self.end - self.start).days + 1

    @property
    def query(self):
        """The period as it stands in an address."""
        return f"from={self.start}&to={self.end}"

    def parts(self, step: int) -> Iterator["Period"]:
        """Periods of `step` days that together are this one; only the first may be shorter."""
        last_days = range((self.days - 1) % step, self.days, step)
        for offset in last_days:
            end = self.start + timedelta(days=offset)
            yield Period(max(self.start, end - timedelta(days=step - 1)), end)


def read_period(start: str, end: str) -> Period | None:
    """The days of an address, None when it names none. Raises Refused for what is not a day."""
    if not start and not end:
        return None
    try:
        first, last = date.fromisoformat(start or end), date.fromisoformat(end or start)
    except ValueError as exc:
        raise Refused(_("Write days like 2026-02-21. Correct the address, or remove the days from it.")) from exc
    return Period(min(first, last), max(first, last))


def summaries(order: str) -> list[AgentSummary]:
    """A row for each agent, ordered by one of COLUMNS, `-` before it for the largest first."""
    known = order.replace("cost_usd", "known_cost")
    return list(AgentSummary.objects.annotate(known_cost=KnownCost()).order_by(known, "agent_id"))


def totals(rows: Sequence[AgentSummary]) -> dict:
    """The sums of all agents' rows."""
    collected = [row.last_collected_at for row in rows if row.last_collected_at]
    return {
        "agent_count": len(rows),
        "last_collected_at": max(collected, default=None),
        **{name: added_up(getattr(row, name) for row in rows) or NOTHING.get(name, 0) for name in SUMS},
    }


def removed_turns(rows: Sequence[AgentSummary]) -> int:
    """How many turns the days still count of sessions that were removed; 0 when adding up all days takes too long."""
    of_days = 0
    with time_box(DEFAULT_DB_ALIAS, ADDING_MS) as is_over:
        try:
            of_days = AgentDailyStat.objects.aggregate(turns=Sum("turn_count"))["turns"] or 0
        except OperationalError as exc:
            if not is_over(exc):
                raise
    return max(0, of_days - sum(row.turn_count for row in rows))


def sums_in(period: Period) -> list[dict]:
    """What each agent did in these days, the busiest first."""
    return list(
        _days(period)
        .values("agent_id")
        .annotate(**{f"sum_{name}": Sum(name) for name in DAILY_SUMS})
        .order_by("-sum_turn_count", "agent_id")
    )


def activity(chosen: str, agents: Sequence[AgentSummary] = ()) -> Chart:
    """Turns and errors of all agents over a range of RANGES; it ends today, or with the latest day there is.

    Of `agents` a single one has bars that lead to its turns.
    """
    period = _period_of(chosen)
    step = next(days for days in STEPS if not period or period.days <= days * MOST_BARS)
    parts = list(period.parts(step)) if period else []
    return bar_chart(
        _points(period, parts, agents) if period else [],
        title=_("Turns and errors, %(period)s (UTC)") % {"period": period} if period else _("Turns and errors"),
        unit=STEPS[step],
        series=[Series(_("Turns"), "accent"), Series(_("Errors"), "bad", is_below=True)],
    )


def _period_of(chosen):
    today = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).date()
    # A record may bear a time to come; a chart that runs up to it would show nothing else.
    known = AgentDailyStat.objects.filter(date__lte=str(today)).aggregate(first=Min("date"), last=Max("date"))
    if known["last"] is None:
        return None
    first, last = date.fromisoformat(known["first"]), date.fromisoformat(known["last"])
    days = RANGES[chosen]
    if days is None:
        return Period(max(first, last - timedelta(days=MOST_BARS * max(STEPS) - 1)), last)
    end = today if today - last < timedelta(days=days) else last
    return Period(end - timedelta(days=days - 1), end)


def _points(period, parts, agents):
    sums = {
        row["date"]: (row["turns"], row["errors"])
        for row in _days(period).values("date").annotate(turns=Sum("turn_count"), errors=Sum("error_count"))
    }
    # The rows behind a bar: the turns of these days; with several agents first what each of them did.
    only = [row.agent_id for row in agents] if len(agents) == 1 else None
    address = reverse("ledger:turn_list", args=only) if only else reverse("overview:agent_list")
    return [
        Point(str(part), day_in_words(part.end, has_year=False), _sum_of(part, sums), f"{address}?{part.query}")
        for part in parts
    ]


def _sum_of(part, sums):
    days = [sums.get(str(part.start + timedelta(days=i)), (0, 0)) for i in range(part.days)]
    return tuple(sum(values) for values in zip(*days, strict=True))


def _days(period):
    return AgentDailyStat.objects.filter(date__range=(str(period.start), str(period.end)))
