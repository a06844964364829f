"""Schemas of jobs in the JSON API."""

from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import PageQuery
from openclaw_web.endpoints.table_schemas import table_schema

from .models import JobRun

LOG_SHOWN = 50_000  # characters


class JobQuery(PageQuery):
    kind: str | None = Field(None, max_length=50, description="collect, export, …")
    state: Literal["queued", "running", "finished", "refused", "failed", "cancelled", "stopped"] | None = None
    started_by: str | None = Field(None, max_length=150, description="user name")


class JobOut(table_schema(JobRun)):
    state: str
    percent: int | None


class JobDetail(JobOut):
    params: dict[str, Any]
    result: Any = None
    log: str = Field(description="the end of a long log")

    @staticmethod
    def resolve_result(job):
        return job.result if job.result_json else None

    @staticmethod
    def resolve_log(job):
        return job.log[-LOG_SHOWN:]
