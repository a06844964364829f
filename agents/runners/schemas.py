"""Input and output that the APIs of all runners share."""

from typing import Any

from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import BIGGEST, Body, Schema

from .choice import Choice
from .forms import DEFAULT_LIMIT, MAX_LIMIT

MOMENT: dict[str, Any] = {"ge": 0, "le": BIGGEST}


class ChoiceQuery(Schema):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, **MOMENT, description="milliseconds: at or after this time")
    to_ts: int | None = Field(None, **MOMENT, description="milliseconds: before this time")
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="of more, the newest")


class ChoiceIn(Body):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: at or after this time")
    to_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: before this time")
    limit: int = Field(strict=True, ge=1, le=MAX_LIMIT, description="of more, the newest")


class EstimateOut(Schema):
    agent: str
    withheld: int = Field(description="how many are not sent because somebody opted out")
    host: str = Field(description="where they would be sent; empty: no endpoint is configured")
    model: str = Field(description="empty: none is chosen")
    prompt_version: str
    tokens: int = Field(description="estimate")
    cost_usd: float | None = Field(description="estimate; null: no price is set for the model")
    limit_today: int = Field(description="tokens for this UTC day; 0: no limit")
    left_today: int | None = Field(description="tokens left of the limit; null: no limit")
    is_beyond_limit: bool = Field(description="the run would probably stop before its end")
    problem: str = Field(description="why nothing can be sent; empty if something can")


class SwitchedOut(Schema):
    is_on: bool
    since: int | None = Field(description="null while it is off")
    by: str | None


class RunnerOut(Schema):
    problem: str = Field(description="why nothing can be sent; empty if something can")
    host: str
    model: str
    prompt_version: str
    tokens_today: int = Field(description="used, or reserved for calls without a known end")
    cost_today: float | None = Field(description="US dollars; null: not known")
    limit_today: int = Field(description="tokens; 0: no limit")
    left_today: int | None = Field(description="null: no limit")
    runs: list[JobOut] = Field(description="the latest runs over things of this agent, newest first")


def build_choice(query: Any, choice_type: type[Choice], **options: Any) -> Any:
    """Build the choice of a query or a body.

    `more` are the options of one runner.
    """
    moments = {"since": query.from_ts, "until": query.to_ts}
    return choice_type(session=query.session, limit=query.limit, **moments, **options)
