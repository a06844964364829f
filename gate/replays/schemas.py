"""Input and output of the API of replays."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from agents.runners.schemas import EstimateOut
from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import BIGGEST, Body, Page, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query
from people.configuration.setting import MOST_TEXT

from ..lists.decision_list import DecisionFilters
from ..lists.schemas import DECISION
from ..models import GateReplay, GateReplayDecision
from .replay_request import DEFAULT_LIMIT, MAX_DECISIONS, ReplayRequest

MOMENT = {"strict": True, "ge": 0, "le": BIGGEST}


class ReplayFilters(list_query(DecisionFilters, without=("sort",), base=Body)):
    """The filters of the list of decisions."""

    model_config = ConfigDict(strict=True)
    from_ts: int | None = Field(None, **MOMENT, description="milliseconds: at or after this time")
    to_ts: int | None = Field(None, **MOMENT, description="milliseconds: before this time")


class ReplayIn(Body):
    model: str = Field(min_length=1, max_length=200, description="who is to decide, as the endpoint calls it")
    prompt: str = Field("", max_length=MOST_TEXT, description="its text; empty: the prompt in force")
    limit: int = Field(DEFAULT_LIMIT, strict=True, ge=1, le=MAX_DECISIONS, description="of more decisions, the newest")
    filters: ReplayFilters = Field(default_factory=ReplayFilters, description="as of the list of decisions")
    approved: bool = Field(False, strict=True, description="only decisions that approved samples are about")
    decision_ids: list[str] | None = Field(None, max_length=MAX_DECISIONS, description="only these; null: all that fit")
    dry_run: bool = Field(False, strict=True, description="only tell what would be sent")

    @property
    def replay_request(self) -> ReplayRequest:
        """The request for a plan or a replay."""
        names = {"from_ts": "since", "to_ts": "until"}
        filters = self.filters.dict(exclude_none=True)
        return ReplayRequest(
            model=self.model.strip(),
            prompt=self.prompt,
            limit=self.limit,
            filters={names.get(name, name): value for name, value in filters.items() if value not in ("", False)},
            is_approved=self.approved,
            ids=None if self.decision_ids is None else tuple(self.decision_ids),
        )


class ReplayPlanOut(EstimateOut):
    decisions: int = Field(description="decisions that would be sent")
    skipped: int = Field(description="decisions that are not sent because what their gate saw is not stored")


class ReplayStartedOut(Schema):
    replay_id: str
    job: JobOut


class ReplayQuery(PageQuery):
    pass


class ReplayOut(table_schema(GateReplay)):
    state: Literal[(*GateReplay.State.values, "queued")] = Field(  # type: ignore[valid-type]
        description="`stopped`: it can be continued"
    )
    agreement: float | None = Field(description="0 to 1; null: none was made again")
    chosen: dict[str, Any] = Field(description="filters, limit, and whether only approved samples")


class PairOut(Schema):
    original: DECISION  # type: ignore[valid-type]
    replay: DECISION  # type: ignore[valid-type]
    count: int


class SideOut(Schema):
    """Latency, tokens and cost of the decisions of one gate."""

    p50_ms: int | None
    p95_ms: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None = Field(description="of those whose cost is known; null: of none")


class DifferenceOut(table_schema(GateReplayDecision)):
    decision: DECISION  # type: ignore[valid-type]


class ReplayDetail(ReplayOut, Page[DifferenceOut]):  # type: ignore[misc]
    """One replay with its result.

    The items are decisions that changed, the newest first.
    """

    comparison: dict[str, Any] | None = Field(description="with a regression set: what breaks, and the difference")
    outcomes: dict[str, int] = Field(description="decisions that wait, were decided, …")
    matrix: list[PairOut] = Field(description="how often each original decision became which")
    original: SideOut
    replay: SideOut
    calls: int
    tokens: int = Field(description="of all calls, those without a known end included")
    cost_usd: float | None = Field(description="of all calls, failed ones included; null: not known")
