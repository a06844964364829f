"""API schemas of problems."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .models import Problem
from .problem_list import SEGMENTS, ProblemFilters
from .services import LONGEST_REASON


class ProblemQuery(list_query(ProblemFilters)):
    segment: Literal[tuple(SEGMENTS.parts)] = Field("open", description="`all` for every state")  # type: ignore[valid-type]


class ProblemOut(table_schema(Problem)):
    problem: str = Field(description="the sentence of the pages, in the language of the request")
    state: str
    cause_id: str = Field(description="the open problem that this one follows from; empty: none is known")


class MuteIn(Schema):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON)
    until: str = Field("", max_length=10, description="a day like 2026-02-21 (UTC): it opens again when that begins")
