"""The query parameters of an agent's lists in the API: the same filters as on pages."""

from typing import Annotated, Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import BIGGEST, LARGEST_FIRST, SEGMENT, Page, PageQuery, TimeRangeQuery

from ..session.schemas import EventOut, TurnOut
from ..transcripts import trimming
from .event_list import EventFilters
from .session_list import SEGMENTS, SessionFilters
from .turn_list import TurnFilters

SESSION_SORTS, EVENT_SORTS, TURN_SORTS = (
    Literal[filters.sorts()] for filters in (SessionFilters, EventFilters, TurnFilters)
)
IN_REACH = (
    f"words in the first {trimming.CAP:,} characters of the texts of a record, or in the first "
    f"{trimming.RESULT_KEPT:,} characters of a tool result with more than {trimming.RESULT_CAP:,}"
)
COUNTED = "only what sums count: without copies and what repeats another session"
AT_LEAST = {"ge": 0, "le": BIGGEST}


class SessionQuery(TimeRangeQuery):
    segment: Literal[tuple(SEGMENTS.parts)] = Field("all", description=SEGMENT)  # type: ignore[valid-type]
    channel: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=500)
    origin: str | None = Field(None, max_length=500, description="main, direct, group, channel, cron, subagent, …")
    state: Literal["live", "reset", "deleted", "bak"] | None = Field(
        None, description="state of the file that the session was read from"
    )
    q: str = Field("", max_length=200, description="words in the title")
    errors: bool = Field(False, description="only sessions with a failed tool or model call")
    cost: float | None = Field(None, **AT_LEAST, description="minimum cost in dollars")
    tokens: int | None = Field(None, **AT_LEAST, description="minimum tokens")
    sort: SESSION_SORTS = Field(SessionFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]


class EventQuery(TimeRangeQuery):
    limit: int = Field(100, ge=1, le=500)
    session_id: str | None = Field(None, max_length=500, description="only this session, in the order of its records")
    types: list[Annotated[str, Field(max_length=500)]] = Field(
        [],
        max_length=50,
        description="kinds of records: `user`, `assistant`, `tool_result`, …; several separated by commas",
    )
    tool: str | None = Field(None, max_length=256)
    model: str | None = Field(None, max_length=500)
    q: str = Field("", max_length=200, description=IN_REACH)
    failed: bool = Field(False, description="only failed tool and model calls")
    counted: bool = Field(False, description=COUNTED)
    include_payload: bool = Field(
        False, description="include the records themselves; a page then ends after about 2 MB"
    )
    sort: EVENT_SORTS = Field(EventFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def criteria(self, **names: str) -> dict[str, Any]:
        """The values of the filters; comma-separated kinds are split."""
        kinds = [kind.strip() for kinds in self.types for kind in kinds.split(",") if kind.strip()]
        return super().criteria(session_id="session", **names) | {"types": kinds}


class AgentTurnQuery(TimeRangeQuery):
    branch: Literal["active", "all"] = Field(
        "active", description="only the current branches of sessions, or all branches"
    )
    session: str | None = Field(None, max_length=500, description="only this session, in the order of its records")
    model: str | None = Field(None, max_length=500)
    q: str = Field("", max_length=200, description="words in the messages of the user")
    errors: bool = Field(False, description="only turns with a failed tool or model call")
    cost: float | None = Field(None, **AT_LEAST, description="minimum cost in dollars")
    tokens: int | None = Field(None, **AT_LEAST, description="minimum tokens")
    slow: float | None = Field(None, **AT_LEAST, description="minimum duration in seconds")
    counted: bool = Field(False, description=COUNTED)
    sort: TURN_SORTS = Field(TurnFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def criteria(self, **names: str) -> dict[str, Any]:
        """The values of the filters; `branch` becomes the switch `branches`."""
        return super().criteria(**names) | {"branches": self.branch == "all"}


class RejectedQuery(PageQuery):
    reason: str | None = Field(None, max_length=50, description="a code: not_json, truncated, glued, …")
    session: str | None = Field(None, max_length=500)


class AgentEventOut(EventOut):
    session_id: str


class AgentTurnPage(Page[TurnOut]):
    pass
