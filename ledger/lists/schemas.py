"""What the API takes for the lists of an agent: filters and orders, the same as on the pages."""

from typing import Annotated, Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import BIGGEST, LARGEST_FIRST, Moments, Page, PageQuery

from ..session.schemas import EventOut, TurnOut
from ..transcripts import trimming
from .event_list import EventFilters
from .session_list import SessionFilters
from .turn_list import TurnFilters

SESSION_SORTS, EVENT_SORTS, TURN_SORTS = (
    Literal[filters.sorts()] for filters in (SessionFilters, EventFilters, TurnFilters)
)
IN_REACH = (
    f"words in the first {trimming.CAP:,} characters of the record's texts, and in the first "
    f"{trimming.RESULT_KEPT:,} of a tool's result that has more than {trimming.RESULT_CAP:,}"
)
AT_LEAST = {"ge": 0, "le": BIGGEST}


class SessionQuery(Moments):
    channel: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=500)
    origin: str | None = Field(None, max_length=500, description="main, direct, group, channel, cron, subagent, …")
    state: Literal["live", "reset", "deleted", "bak"] | None = Field(None, description="of the file it was read from")
    q: str = Field("", max_length=200, description="words of the title")
    errors: bool = Field(False, description="only sessions with a failed tool or model call")
    cost: float | None = Field(None, **AT_LEAST, description="dollars at least")
    tokens: int | None = Field(None, **AT_LEAST, description="tokens at least")
    sort: SESSION_SORTS = Field(SessionFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]


class EventQuery(Moments):
    limit: int = Field(100, ge=1, le=500)
    session_id: str | None = Field(None, max_length=500, description="only this session, in its order")
    types: list[Annotated[str, Field(max_length=500)]] = Field(
        [], max_length=50, description="kinds of records: `user`, `assistant`, `tool_result`, …; also with commas"
    )
    tool: str | None = Field(None, max_length=256)
    model: str | None = Field(None, max_length=500)
    q: str = Field("", max_length=200, description=IN_REACH)
    failed: bool = Field(False, description="only failed tool and model calls")
    include_payload: bool = Field(False, description="with the record itself; the page then ends after about 2 MB")
    sort: EVENT_SORTS = Field(EventFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def asked(self, **names: str) -> dict[str, Any]:
        """As every list's; the kinds one by one."""
        kinds = [kind.strip() for kinds in self.types for kind in kinds.split(",") if kind.strip()]
        return super().asked(session_id="session", **names) | {"types": kinds}


class AgentTurnQuery(Moments):
    branch: Literal["active", "all"] = Field("active", description="the branches that sessions ended with, or all")
    session: str | None = Field(None, max_length=500, description="only this session, in its order")
    model: str | None = Field(None, max_length=500)
    q: str = Field("", max_length=200, description="words of the user")
    errors: bool = Field(False, description="only turns with a failed tool or model call")
    cost: float | None = Field(None, **AT_LEAST, description="dollars at least")
    tokens: int | None = Field(None, **AT_LEAST, description="tokens at least")
    sort: TURN_SORTS = Field(TurnFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def asked(self, **names: str) -> dict[str, Any]:
        """As every list's; the branches as a switch."""
        return super().asked(**names) | {"branches": self.branch == "all"}


class RejectedQuery(PageQuery):
    reason: str | None = Field(None, max_length=50, description="one word: not_json, truncated, glued, …")
    session: str | None = Field(None, max_length=500)


class AgentEventOut(EventOut):
    session_id: str


class AgentTurnPage(Page[TurnOut]):
    pass
