"""Schemas of jobs in the JSON API."""

from typing import Any

from pydantic import Field

from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .job_list import JobFilters
from .models import JobRun

LOG_SHOWN = 50_000  # characters


class JobQuery(list_query(JobFilters)):
    pass


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
