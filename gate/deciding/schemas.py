"""What goes into the API of our own gate and comes out of it."""

from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import BIGGEST, Body, Schema

from .choosing import Asked
from .forms import MOST_TURNS, USUAL_TURNS

MOMENT = {"ge": 0, "le": BIGGEST}


class RunQuery(Schema):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, **MOMENT, description="milliseconds: turns at or after this time")
    to_ts: int | None = Field(None, **MOMENT, description="milliseconds: turns before this time")
    limit: int = Field(USUAL_TURNS, ge=1, le=MOST_TURNS, description="of more turns, the newest")
    again: bool = Field(False, description="also turns that have a decision, unless of the same model and prompt")

    @property
    def asked(self) -> Asked:
        """As a plan is asked for."""
        return _asked(self)


class RunIn(Body):
    session: str | None = Field(None, max_length=500, description="ID or key of a session")
    from_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: turns at or after this time")
    to_ts: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: turns before this time")
    limit: int = Field(strict=True, ge=1, le=MOST_TURNS, description="of more turns, the newest")
    again: bool = Field(False, strict=True, description="also turns that have a decision")

    @property
    def asked(self) -> Asked:
        """As a run is asked for."""
        return _asked(self)


class PlanOut(Schema):
    agent: str
    turns: int = Field(description="turns that would be sent")
    withheld: int = Field(description="turns that are not sent because somebody opted out")
    host: str = Field(description="where they would be sent; empty: no endpoint is configured")
    model: str = Field(description="empty: none is chosen")
    prompt_version: str
    tokens: int = Field(description="estimate")
    cost_usd: float | None = Field(description="estimate; null: no price is set for the model")
    limit_today: int = Field(description="tokens for this UTC day; 0: no limit")
    left_today: int | None = Field(description="tokens left of the limit; null: no limit")
    is_beyond_limit: bool = Field(description="the run would probably stop before its last turn")
    problem: str = Field(description="why nothing can be sent; empty if something can")


class SwitchIn(Body):
    is_on: bool = Field(strict=True, description="judge turns that begin from now on")


class SwitchOut(Schema):
    is_on: bool
    since: int | None = Field(description="null while it is off")
    by: str | None


class OwnGateOut(Schema):
    switch: SwitchOut
    problem: str = Field(description="why nothing can be sent; empty if something can")
    host: str
    model: str
    prompt_version: str
    decided_today: int = Field(description="calls of this UTC day that became a decision, without those of replays")
    failed_today: int
    malformed_today: int = Field(description="calls whose answer was no decision")
    sent_today: int = Field(description="calls that are under way, or whose end nobody heard of")
    tokens_today: int = Field(description="used, or reserved for calls without a known end")
    cost_today: float | None = Field(description="US dollars; null: not known")
    limit_today: int = Field(description="tokens; 0: no limit")
    left_today: int | None = Field(description="null: no limit")
    runs: list[JobOut] = Field(description="the latest runs over turns of this agent, newest first")


def _asked(wanted):
    moments = {"since": wanted.from_ts, "until": wanted.to_ts}
    return Asked(session=wanted.session, limit=wanted.limit, is_again=wanted.again, **moments)
