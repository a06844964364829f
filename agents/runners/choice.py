"""The choice of items of an agent that a model is asked about.

Pages, the API and commands build it.
"""

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
    """A choice of items; when there are more than `limit`, the newest.

    Times are milliseconds. `before_at`: items stored since then count as not stored. `give_up_after`: attempts at one
    item.
    """

    session: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    before_at: int | None = None
    give_up_after: int | None = None

    def to_params(self, agent: Agent) -> dict[str, Any]:
        """Return the parameters of a job that begins now.

        A later attempt of the job is about the same items.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value not in (None, False, ())}
        return {"agent": agent.agent_id, **given, "before_at": clock.now_ms()}

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """Return the choice of a job with these parameters."""
        return cls(**{field.name: params[field.name] for field in fields(cls) if field.name in params})
