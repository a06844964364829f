"""Totals, and the activity of agents in a range, from global sums alone."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet, Sum
from django.db.models.functions import Substr
from django.urls import reverse
from django.utils.translation import gettext_lazy

from ledger.transcripts.rows import sum_totals
from openclaw_web.pages import states
from openclaw_web.pages.small_charts import Sparkline, sparkline
from openclaw_web.sqlite.fields import JoinedTexts, KnownCost

from . import latency
from .models import AgentDailyStat, AgentHour, AgentSummary, MemorySpan
from .ranges import Range
from .span_sums import COUNTS, WRITES, SpanSums

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
MOST_SPARKS = 60  # bars of a sparkline
NOTHING = {"cost_usd": None}  # totals without any value
RANGE_COLUMNS = {
    "agent_id": gettext_lazy("Agent"),
    "turns": gettext_lazy("Turns"),
    "errors": gettext_lazy("Errors"),
    "tokens": gettext_lazy("Tokens"),
    "cost": gettext_lazy("Cost"),
    "p95": gettext_lazy("Answer time, p95"),
    "written": gettext_lazy("Memory: written"),
    "rolled_back": states.word("rolled_back"),
    "refused": states.word("refused"),
}


def read_summaries(order: str) -> list[AgentSummary]:
    """Read a row for each agent, ordered by one of COLUMNS.

    `-` before a name means descending order.
    """
    known = order.replace("cost_usd", "known_cost")
    return list(AgentSummary.objects.annotate(known_cost=KnownCost()).order_by(known, "agent_id"))


def sum_summaries(rows: Sequence[AgentSummary]) -> dict:
    """Sum the rows of all agents."""
    collected = [row.last_collected_at for row in rows if row.last_collected_at]
    return {
        "agent_count": len(rows),
        "last_collected_at": max(collected, default=None),
        **{name: sum_totals(getattr(row, name) for row in rows) or NOTHING.get(name, 0) for name in SUMS},
    }


@dataclass(slots=True)
class RangeSums:
    """Sums of one or all agents in a range.

    Removed sessions count in `removed_turns` alone.
    """

    sums: SpanSums = field(default_factory=SpanSums)

    @property
    def turns(self) -> int:
        return self.sums.counts["turn_count"] - self.sums.counts["removed_turn_count"]

    @property
    def removed_turns(self) -> int:
        return self.sums.counts["removed_turn_count"]

    @property
    def errors(self) -> int:
        return self.sums.counts["error_count"] - self.sums.counts["removed_error_count"]

    @property
    def tokens(self) -> int:
        return self.sums.counts["total_tokens"]

    @property
    def cost(self) -> float | None:
        return self.sums.cost_usd

    @property
    def unpriced(self) -> int:
        return self.sums.counts["unpriced_tokens"]

    @property
    def p95(self) -> int | None:
        return latency.percentile(self.sums.latencies, 95)

    @property
    def written(self) -> int:
        return self.sums.counts["written_count"]

    @property
    def rolled_back(self) -> int:
        return self.sums.counts["rolled_back_count"]

    @property
    def refused(self) -> int:
        return self.sums.counts["refused_count"]


@dataclass(slots=True)
class AgentRow:
    """An agent in a range, with the lists behind its numbers."""

    agent_id: str
    sums: RangeSums
    links: "Links"


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of the lists behind the numbers of an agent in a range, or of all without an `agent_id`.

    A list has as many rows as its number says.
    """

    agent_id: str
    query: str
    has_repeats: bool
    slowest_ms: int = 0

    @property
    def turns(self) -> str:
        return self._build_address("ledger:turn_list")

    @property
    def errors(self) -> str:
        return self._build_address("ledger:event_list", "failed=on")

    @property
    def p95(self) -> str:
        return (
            self._build_address("ledger:turn_list", f"slow={self.slowest_ms / 1000}") if self.slowest_ms else self.turns
        )

    @property
    def written(self) -> str:
        return self._select_writes("written")

    @property
    def rolled_back(self) -> str:
        return self._select_writes("rolled_back")

    @property
    def refused(self) -> str:
        return self._select_writes("refused")

    def _select_writes(self, status):
        address = build_list_address("guardian:audit_list", self.agent_id)
        return f"{address}?status={status}&segment=writes&{self.query}"

    def _build_address(self, name, *filters):
        parts = [*filters, self.query, *(["counted=on"] if self.has_repeats else [])]
        return f"{build_list_address(name, self.agent_id)}?{'&'.join(part for part in parts if part)}"


@lru_cache(maxsize=4_000)
def build_list_address(name: str, agent_id: str = "") -> str:
    """Build the address of a list, cached: a page has some hundred of them."""
    return reverse(name, args=[agent_id] if agent_id else [])


def build_links(agent_id: str, period: Range | None, has_repeats: bool, sums: SpanSums | None = None) -> Links:
    """Build the addresses of the lists behind an agent's numbers.

    `sums` say from which answer time on its answers are the slowest ones.
    """
    bucket = latency.percentile_bucket(sums.latencies, 95) if sums else None
    return Links(agent_id, period.query if period else "", has_repeats, latency.bucket_start(bucket or 0))


def read_agent_rows(period: Range, agent_ids: Sequence[str] | None = None) -> list[AgentRow]:
    """Read the sums of some or all agents in a range, without inactive agents."""
    by_agent: dict[str, SpanSums] = {}
    # SQLite sums: reading some thousand rows of days would take most of the time of a page.
    summed_columns = {name: Sum(name) for name in (*COUNTS, "cost_usd")}
    for row in _sum_by_agent(
        _select_activity(period), agent_ids, **summed_columns, latencies=JoinedTexts("latency_json")
    ):
        agent_id, cost, latencies = row.pop("agent_id"), row.pop("cost_usd"), row.pop("latencies")
        by_agent[agent_id] = SpanSums(Counter(row), cost, latency.merge_joined_counts(latencies or ""))
    for row in _sum_by_agent(_select_writes(period), agent_ids, **{name: Sum(name) for name in WRITES}):
        by_agent.setdefault(row.pop("agent_id"), SpanSums()).counts.update(row)
    with_repeats = set(AgentSummary.objects.filter(has_repeats=True).values_list("agent_id", flat=True))
    return [
        AgentRow(agent_id, RangeSums(sums), build_links(agent_id, period, agent_id in with_repeats, sums))
        for agent_id, sums in sorted(by_agent.items())
    ]


def build_sparklines(period: Range, agent_ids: Sequence[str]) -> dict[str, Sparkline | None]:
    """Build small charts of the turns of agents by day or hour.

    There is none where the range has too many bars.
    """
    if period.count > MOST_SPARKS:
        return {}
    turns: dict[str, dict[str, int]] = {agent_id: {} for agent_id in agent_ids}
    rows = _select_activity(period).filter(agent_id__in=agent_ids)
    column = "date" if rows.model is AgentDailyStat else "span"
    for agent_id, span, count in rows.values_list("agent_id", column, "turn_count"):
        turns[agent_id][span] = count
    spans = period.spans
    return {
        agent_id: sparkline([known.get(span, 0) for span in spans], label="") if known else None
        for agent_id, known in turns.items()
    }


def sum_rows(rows: Iterable[AgentRow]) -> RangeSums:
    """Sum all rows."""
    total = RangeSums()
    for row in rows:
        total.sums.add(row.sums.sums)
    return total


def read_usage_by_month(agent_ids: Iterable[str]) -> list[tuple[str, str, float | None, int, int]]:
    """Agent, month, cost, tokens and unpriced tokens of all days of some agents.

    USAGE_BY_MONTH of the settings names this function.
    """
    days = AgentDailyStat.objects.filter(agent_id__in=list(agent_ids)).order_by()
    months = days.values_list("agent_id", Substr("date", 1, 7))
    return list(months.annotate(cost=Sum("cost_usd"), tokens=Sum("total_tokens"), unpriced=Sum("unpriced_tokens")))


def sort_rows(rows: list[AgentRow], order: str) -> list[AgentRow]:
    """Sort rows by one of RANGE_COLUMNS; `-` before it for descending order."""
    name, sign = order.removeprefix("-"), -1 if order.startswith("-") else 1
    if name == "agent_id":
        return rows[::sign]

    def sort_key(row: AgentRow) -> Any:
        value = getattr(row.sums, name)
        return sign * (-1 if value is None else value), row.agent_id

    return sorted(rows, key=sort_key)


def _sum_by_agent(rows, agent_ids, **sums):
    chosen = rows if agent_ids is None else rows.filter(agent_id__in=agent_ids)
    return chosen.order_by().values("agent_id").annotate(**sums)


def _select_activity(period: Range) -> QuerySet:
    if period.is_hours:
        return AgentHour.objects.filter(span__gte=period.first_span, span__lte=period.last_span)
    return AgentDailyStat.objects.filter(date__gte=str(period.first_day), date__lte=str(period.last_day))


def _select_writes(period: Range) -> QuerySet:
    spans = MemorySpan.objects.filter(span__gte=period.first_span, span__lte=period.last_span)
    return spans.filter(span__contains="T") if period.is_hours else spans.exclude(span__contains="T")
