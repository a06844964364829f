"""API schemas of the statistics of decisions."""

from datetime import date
from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Page, PageQuery, Schema

from ..figures import GROUPINGS


class GateStatisticsQuery(PageQuery):
    by: Literal[GROUPINGS] = Field("week", description="what a row is; weeks are ISO weeks, all days are UTC")  # type: ignore[valid-type]
    first_day: date | None = Field(
        None,
        alias="from",
        description="the first day; default: the first one with decisions in the twelve weeks up to the last",
    )
    last_day: date | None = Field(
        None,
        alias="to",
        description="the last day, included; default: the last one with decisions, or today with a first day",
    )
    model: str = Field("", max_length=500)
    prompt: str = Field("", max_length=500, description="a prompt version")
    session: str = Field("", max_length=500, description="only with `by=session`; `model` and `prompt` only without")
    limit: int = Field(50, ge=1, le=200)

    @property
    def query_arguments(self) -> dict[str, Any]:
        """The arguments of a query for statistics."""
        values = {name: getattr(self, name) for name in ("by", "model", "prompt", "session")}
        return {**values, "since": self.first_day, "until": self.last_day}


class GateFiguresOut(Schema):
    """Figures of decisions.

    A failed call is no decision; of the sums only the cost includes it.
    """

    total: int
    decisions: dict[str, int]
    shares: dict[str, float | None] = Field(description="of all decisions, 0 to 1")
    p50_ms: int | None = Field(description="median latency, within 5%")
    p95_ms: int | None
    latency_known: int = Field(description="decisions whose latency is known; the same for tokens and cost below")
    prompt_tokens: int | None
    completion_tokens: int | None
    tokens_known: int
    cost_usd: float | None = Field(description="sum of known costs, failed calls included; null when none is known")
    cost_known: int
    failed: int = Field(description="calls that failed")
    malformed: int = Field(description="calls whose answer was no decision")
    unseen: int = Field(description="decisions whose gate had no message of the user")


class GateRowOut(GateFiguresOut):
    key: str = Field(description="day or Monday (YYYY-MM-DD), session, model or prompt version; empty if unknown")
    first_day: str | None = Field(description="null for a session, which is counted whole")
    last_day: str | None
    first_at: int | None = Field(description="of a session: its first decision or failed call, in milliseconds")
    last_at: int | None


class GateJudgedOut(Schema):
    """Decisions that people judged, and how many of them were right."""

    count: int
    right: int
    share: float | None = Field(description="that was right, 0 to 1; null: none was judged")
    interval: tuple[float, float] | None = Field(description="95% score interval (Wilson) of the share")


class GateAllJudgedOut(GateJudgedOut):
    decisions: dict[str, GateJudgedOut] = Field(description="the same of each decision")
    is_whole: bool = Field(description="false while verdicts are still being counted")


class GateDriftOut(Schema):
    decision: str
    share: float = Field(description="in the last seven full days, 0 to 1")
    share_before: float = Field(description="in the four weeks before")
    points: float = Field(description="change in percentage points")
    decisions: int = Field(description="all decisions in the seven days")
    decisions_before: int


class GatePromptChangeOut(Schema):
    day: date = Field(description="UTC day on which the version came into use")
    prompt: str
    before: str = Field(description="the version that decided most on the last day before")


class GateReasonOut(Schema):
    decision: str
    reason: str = Field(description="the newest one's words")
    count: int


class GateStatisticsOut(Page[GateRowOut]):  # type: ignore[misc]
    state: Literal["ready", "calculating", "off"] = Field(description="unless `ready`, there are no figures yet")
    by: str
    first_day: str | None = None
    last_day: str | None = None
    total: GateFiguresOut | None = None
    judged: GateAllJudgedOut | None = Field(None, description="what people said of these days; null for one session")
    drift: list[GateDriftOut] = Field([], description="decisions whose share changed by the settings' points or more")
    prompt_changes: list[GatePromptChangeOut] = []
    reasons: list[GateReasonOut] = Field([], description="reasons given twice or more among the newest decisions")
    reasons_looked_at: int = Field(0, description="how many decisions were compared for that")
