"""Facts of an agent's page beside the sums of its range: channels, tools, tasks, and the size of its prompts."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from agents.models import Agent
from automation import schedules
from automation.models import CronJob
from ledger.lists import facets
from ledger.models import ConversationTurn, Session, ToolDay
from ledger.savings.prompts import Band, band
from ledger.session import steps
from openclaw_web.lists.list_counts import RowCount

from .ranges import Range

COUNTING_MS = 30  # for the sessions of each channel
TOOLS, TASKS = 12, 8  # shown
RUNS = 2_000  # the newest sessions of scheduled tasks, whose cost is summed
PROMPTS = 300  # the newest ones


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool in a range: how many results it had, and how many of them were failures."""

    name: str
    results: int
    failed: int
    durations: list[int]  # ms of its newest calls that are known, the shortest first

    @property
    def percent(self) -> int:
        return round(100 * self.failed / self.results)

    @property
    def median_ms(self) -> int:
        return self.durations[len(self.durations) // 2]

    @property
    def p95_ms(self) -> int:
        return self.durations[len(self.durations) * 95 // 100]


@dataclass(slots=True)
class RunCost:
    """The cost of the newest runs of a task: dollars where known, and tokens without a price."""

    runs: int = 0
    cost_usd: float | None = None
    unpriced_tokens: int = 0


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The facts of an agent's page.

    `tasks` are pairs of a job, as of `schedules.read_page`, and the cost of its runs. `prompts` is the size of the
    newest prompts in tokens, None for too few.
    """

    agent: Agent
    channels: dict[str, RowCount]
    tools: list[ToolFacts]
    tasks: list[tuple[Any, RunCost]]
    prompts: Band | None


def read_facts(agent: Agent, period: Range) -> AgentFacts:
    """Read the facts of an agent. Tools are those of the days of a range."""
    turns = ConversationTurn.objects.using(agent.db).filter(is_active=True, prompt_tokens__gt=0)
    sizes = list(turns.order_by("-created_at").values_list("prompt_tokens", flat=True)[:PROMPTS])
    costs = _sum_run_costs(agent.db)
    jobs = schedules.read_page(CronJob.objects.filter(agent_id=agent.agent_id), size=TASKS)
    return AgentFacts(
        agent,
        facets.count_values(agent.db, "channel_id", COUNTING_MS) or {},
        _read_tools(agent.db, period),
        [(job, costs.get(job.id, RunCost())) for job in jobs],
        band(sizes),
    )


def _read_tools(db, period):
    days = ToolDay.objects.using(db).filter(date__gte=str(period.first_day), date__lte=str(period.last_day))
    sums = days.exclude(tool="").values("tool").annotate(results=Sum("result_count"), failed=Sum("failed_count"))
    rows = sums.filter(results__gt=0).order_by("-results", "tool")[:TOOLS]
    known: defaultdict[str, list[int]] = defaultdict(list)
    for facts in steps.read_tool_ends(db, created_at__range=(period.start_ms, period.end_ms - 1)):
        known[facts.get("name", "")].append(facts["durationMs"])
    return [ToolFacts(row["tool"], row["results"], row["failed"], sorted(known[row["tool"]])) for row in rows]


def _sum_run_costs(db):
    """The cost of the newest runs of each task, by its id."""
    costs: defaultdict[str, RunCost] = defaultdict(RunCost)
    runs = Session.objects.using(db).filter(origin="cron").order_by("-last_activity_at", "-id")
    for key, cost, unpriced in runs.values_list("session_key", "cost_usd", "unpriced_tokens")[:RUNS]:
        if match := schedules.KEY.fullmatch(key or ""):
            total = costs[match["job"]]
            total.runs += 1
            total.unpriced_tokens += unpriced
            total.cost_usd = total.cost_usd if cost is None else round((total.cost_usd or 0) + cost, 9)
    return costs
