"""The query parameters of an agent's lists in the API: the same filters as on pages."""

from typing import Annotated, Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Page
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query
from problems.models import ErrorGroup

from ..errors.error_list import ErrorFilters
from ..session.schemas import EventOut, TurnOut
from .event_list import EventFilters
from .rejected_list import RejectedFilters
from .session_list import SessionFilters
from .turn_list import TurnFilters


class SessionQuery(list_query(SessionFilters)):
    pass


class EventQuery(list_query(EventFilters, without=("kind",))):
    limit: int = Field(100, ge=1, le=500)
    types: list[Annotated[str, Field(max_length=500)]] = Field(
        [],
        max_length=50,
        description="kinds of records: `user`, `assistant`, `tool_result`, …; several separated by commas",
    )
    include_payload: bool = Field(
        False, description="include the records themselves; a page then ends after about 2 MB"
    )

    def criteria(self) -> dict[str, Any]:
        """The values of the filters; comma-separated kinds are split."""
        kinds = [kind.strip() for kinds in self.types for kind in kinds.split(",") if kind.strip()]
        return super().criteria() | {"types": kinds}


class AgentTurnQuery(list_query(TurnFilters, without=("branches",))):
    branch: Literal["active", "all"] = Field(
        "active", description="only the current branches of sessions, or all branches"
    )

    def criteria(self) -> dict[str, Any]:
        """The values of the filters; `branch` becomes the switch `branches`."""
        return super().criteria() | {"branches": self.branch == "all"}


class RejectedQuery(list_query(RejectedFilters)):
    # Also codes that the page has no words for, such as those of a damaged database.
    reason: str | None = Field(None, max_length=50, description="a code: not_json, truncated, glued, …")


class ErrorQuery(list_query(ErrorFilters)):
    agent: str = Field("", max_length=56, description="only errors of this agent, with its numbers")


class ErrorOut(table_schema(ErrorGroup)):
    agents: dict[str, int] = Field(description="the agents with such a call, and how many each has")


class AgentEventOut(EventOut):
    session_id: str


class AgentTurnPage(Page[TurnOut]):
    pass
