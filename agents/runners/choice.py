"""Which things of an agent somebody wants a model asked about, as pages, the API and commands say it."""

from dataclasses import dataclass, fields
from typing import Any, Self

from openclaw_web import clock
from openclaw_web.errors import Refused

from ..models import Agent


class NoSuchSession(Refused):
    """An id or key that no session of the agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class Choice:
    """Of more things than `limit`, the newest; times are milliseconds.

    `before_at`: what was stored since then is as if it were not there yet. `give_up_after`: attempts at one thing.
    """

    session: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    before_at: int | None = None
    give_up_after: int | None = None

    def to_params(self, agent: Agent) -> dict[str, Any]:
        """The parameters of a job; it begins now, and a later attempt of it is about the same things."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value not in (None, False, ())}
        return {"agent": agent.agent_id, **given, "before_at": clock.now_ms()}

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """The choice of a job with these parameters."""
        return cls(**{field.name: params[field.name] for field in fields(cls) if field.name in params})
