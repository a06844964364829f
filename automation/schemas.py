"""API schemas of scheduled jobs, their runs, and runs of sub-agents."""

from typing import Any, Literal

from pydantic import AliasPath, Field

from openclaw_web.endpoints.schemas import PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from . import schedules
from .models import CronJob, CronRunLog

Outcome = Literal["succeeded", "failed", "skipped", ""]
OUTCOME = Field(description="meaning of the status; empty for an unknown status")


class NumbersOut(Schema):
    """Results of a task; everything except the count is based on its last 100 runs."""

    run_count: int = Field(description="1001 means more than 1000")
    success_percent: int | None = Field(description="based on runs that succeeded or failed")
    median_ms: int | None
    average_ms: int | None
    longest_ms: int | None
    last_run_at: int | None = Field(None, validation_alias=AliasPath("last", "ts"))
    last_outcome: Outcome | None = Field(None, validation_alias=AliasPath("last", "outcome"))


class CronJobOut(table_schema(CronJob)):
    words: str = Field(description="schedule in words")
    schedule: dict[str, Any]
    numbers: NumbersOut


class CronJobDetail(CronJobOut):
    prompt: str
    definition: dict[str, Any] = Field(description="the definition as imported")


class CronRunOut(table_schema(CronRunLog)):
    outcome: Outcome = OUTCOME

    @staticmethod
    def resolve_outcome(run):
        return schedules.get_outcome(run.status)


class SubagentQuery(PageQuery):
    session: str = Field("", max_length=1_000, description="id or key of the session that asked or that was started")


class SideOut(Schema):
    key: str
    session_id: str | None = Field(description="null when the session is not in this agent's store")


class SubagentRunOut(Schema):
    run_id: str
    label: str
    task: str
    model: str
    outcome: str = Field(description="as reported by OpenClaw; empty until the run has ended")
    error: str
    created_at: int | None
    ended_at: int | None
    duration_ms: int | None
    requester: SideOut
    child: SideOut
