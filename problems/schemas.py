"""Problems in the JSON API."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import LARGEST_FIRST, PageQuery, Schema

from .services import LONGEST_REASON


class ProblemQuery(PageQuery):
    state: Literal["open", "muted", "closed", "all"] = Field("open", description="`all` for every state")
    kind: str | None = Field(None, max_length=50, description="rule_broken, proposal_waiting, …")
    agent: str | None = Field(None, max_length=56)
    sort: Literal["severity", "-severity", "since", "-since"] = Field("-severity", description=LARGEST_FIRST)


class ProblemOut(Schema):
    id: str
    kind: str
    agent_id: str = Field(description="empty: the problem is about no agent")
    subject: str = Field(description="what it is about: a file, a rule, a task; empty: the kind says it")
    problem: str = Field(description="the sentence of the pages, in the language of the request")
    severity: int
    state: str
    since_at: int
    opened_at: int
    last_seen_at: int = Field(description="the last check that found it")
    reopened_count: int
    seen_at: int | None
    seen_by: str
    muted_at: int | None
    muted_by: str
    mute_reason: str
    closed_at: int | None
    closed_by: str = Field(description="empty: closed by itself")


class MuteIn(Schema):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON)
