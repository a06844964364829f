"""What the API says about jobs, and about all agents together."""

from typing import Any, Literal

import orjson
from django.conf import settings
from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Body, PageQuery

LOG_SHOWN = 50_000  # characters


class OverviewQuery(Schema):
    days: int = Field(35, ge=0, le=366, description="how many days at most")


class JobQuery(PageQuery):
    kind: str | None = Field(None, max_length=50, description="collect, export, …")
    state: Literal["queued", "running", "finished", "refused", "failed", "cancelled"] | None = None
    started_by: str | None = Field(None, max_length=150, description="user name")


class CollectIn(Body):
    include_deleted: bool = Field(False, description="also read deleted and reset sessions")

    def params(self) -> dict[str, Any]:
        """What the job takes, spelled as the page's button spells it, so that equal wishes are one job."""
        source = {"source": str(settings.STATE_DIR)}
        return source | {"include_deleted": True} if self.include_deleted else source


class JobOut(Schema):
    id: str
    kind: str
    state: str
    attempts: int
    done: int
    total: int | None
    percent: int | None
    message: str
    started_by: str
    created_at: int
    started_at: int | None
    heartbeat_at: int | None
    finished_at: int | None
    cancel_requested_at: int | None
    cancel_requested_by: str


class JobDetail(JobOut):
    params: dict[str, Any]
    result: Any = None
    log: str = Field(description="its end, when it is long")

    @staticmethod
    def resolve_params(job):
        return orjson.loads(job.params_json)

    @staticmethod
    def resolve_result(job):
        return orjson.loads(job.result_json) if job.result_json else None

    @staticmethod
    def resolve_log(job):
        return job.log[-LOG_SHOWN:]


class TotalsOut(Schema):
    agent_count: int
    session_count: int
    turn_count: int
    error_count: int
    total_tokens: int
    cost_usd: float
    rejected_count: int
    last_collected_at: int | None


class DayOut(Schema):
    date: str = Field(description="UTC day, YYYY-MM-DD")
    session_count: int
    turn_count: int
    record_count: int
    tool_call_count: int
    error_count: int
    total_tokens: int
    cost_usd: float


class OverviewOut(Schema):
    totals: TotalsOut
    days: list[DayOut] = Field(description="days on which something happened, oldest first")


SUMMARY_ORDERS = {
    f"{sign}{name}": tuple(f"{sign}{column}" for column in dict.fromkeys((name, "agent_id")))
    for name in ("agent_id", "session_count", "turn_count", "error_count", "total_tokens", "cost_usd", "rejected_count")
    for sign in ("", "-")
}


class SummaryQuery(PageQuery):
    sort: Literal[tuple(SUMMARY_ORDERS)] = Field("agent_id", description="a column; `-` before it: the biggest first")  # type: ignore[valid-type]


class SummaryOut(Schema):
    agent_id: str
    session_count: int
    turn_count: int
    error_count: int
    total_tokens: int
    cost_usd: float
    rejected_count: int
    last_activity_at: int | None
    last_collected_at: int | None
