"""What the API says about agents, and the answers every operation shares."""

from typing import Any

from ninja import Schema
from pydantic import Field


class Problem(Schema):
    """Why nothing was done: a sentence."""

    detail: str


class Refusal(Problem):
    """Understood and not carried out: a sentence that says what to do next, and the rows in the way."""

    reasons: list[dict[str, Any]] = []


class Invalid(Schema):
    """Which parts of the request do not fit: one entry each with `loc` and `msg`."""

    detail: list[dict[str, Any]]


PROBLEMS = {400: Problem, 401: Problem, 403: Problem, 404: Problem, 409: Refusal, 422: Invalid, 503: Problem}


def problems(*statuses: int) -> dict[int, type[Schema]]:
    """The answers of an operation beside the good one: `response={200: AgentOut, **problems(404)}`.

    401, 403 and 422 are in every list.
    """
    return {status: PROBLEMS[status] for status in sorted({401, 403, 422, *statuses})}


class PageFilters(Schema):
    """Which part of a list: the `next` of the part before, and how many rows at most."""

    after: str | None = Field(None, description="`next` of the answer before; leave it out for the first one")
    limit: int = Field(50, ge=1, le=200)


class AgentOut(Schema):
    agent_id: str
    created_at: int
    updated_at: int
    schema_version: int | None
    size_bytes: int | None
    last_seen_at: int | None

    @staticmethod
    def resolve_schema_version(agent):
        return _of_file(agent, "schema_version")

    @staticmethod
    def resolve_size_bytes(agent):
        return _of_file(agent, "size_bytes")

    @staticmethod
    def resolve_last_seen_at(agent):
        return _of_file(agent, "last_seen_at")


class AgentPage(Schema):
    items: list[AgentOut]
    next: str | None


def _of_file(agent, name):
    return getattr(getattr(agent, "database", None), name, None)
