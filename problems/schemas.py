"""API schemas of problems."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import LARGEST_FIRST, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from .models import Problem
from .services import LONGEST_REASON


class ProblemQuery(PageQuery):
    state: Literal["open", "muted", "closed", "all"] = Field("open", description="`all` for every state")
    kind: str | None = Field(None, max_length=50, description="rule_broken, proposal_waiting, …")
    agent: str | None = Field(None, max_length=56)
    sort: Literal["severity", "-severity", "since", "-since"] = Field("-severity", description=LARGEST_FIRST)


class ProblemOut(table_schema(Problem)):
    problem: str = Field(description="the sentence of the pages, in the language of the request")
    state: str


class MuteIn(Schema):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON)
