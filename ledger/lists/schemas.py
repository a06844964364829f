"""What the API takes for the lists of an agent: filters and orders, the same as on the pages."""

from typing import Annotated, Any, Literal

from django.db.models import Q
from pydantic import Field

from openclaw_web.endpoints.schemas import BIGGEST, LARGEST_FIRST, Moments, Page, PageQuery

from ..session.schemas import EventOut, TurnOut
from ..transcripts import trimming
from .listing import EVENT_ORDERS, NEWEST_EVENTS, NEWEST_SESSIONS, NEWEST_TURNS, SESSION_ORDERS, TURN_ORDERS

SESSION_SORTS, EVENT_SORTS, TURN_SORTS = (
    Literal[tuple(f"{sign}{name}" for name in orders for sign in ("", "-"))]
    for orders in (SESSION_ORDERS, EVENT_ORDERS, TURN_ORDERS)
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
    sort: SESSION_SORTS = Field(NEWEST_SESSIONS, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def asked(self) -> dict[str, Any]:
        """As `listing.sessions` takes them."""
        return self.chosen()


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
    sort: EVENT_SORTS = Field(NEWEST_EVENTS, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def asked(self) -> dict[str, Any]:
        """As `listing.events` takes them."""
        return self.chosen("types", "include_payload", "session_id") | {"session": self.session_id or ""}

    def of_types(self, condition: Q | None) -> Q | None:
        """The condition of a listing, and that the kind is one of `types`."""
        kinds = [kind.strip() for kinds in self.types for kind in kinds.split(",") if kind.strip()]
        one_of = Q(kind__in=kinds) if kinds else None
        return condition & one_of if condition and one_of else condition or one_of


class AgentTurnQuery(Moments):
    branch: Literal["active", "all"] = Field("active", description="the branches that sessions ended with, or all")
    session: str | None = Field(None, max_length=500, description="only this session, in its order")
    model: str | None = Field(None, max_length=500)
    q: str = Field("", max_length=200, description="words of the user")
    errors: bool = Field(False, description="only turns with a failed tool or model call")
    cost: float | None = Field(None, **AT_LEAST, description="dollars at least")
    tokens: int | None = Field(None, **AT_LEAST, description="tokens at least")
    sort: TURN_SORTS = Field(NEWEST_TURNS, description=LARGEST_FIRST)  # type: ignore[valid-type]

    def asked(self) -> dict[str, Any]:
        """As `listing.turns` takes them."""
        return self.chosen("branch") | {"active": self.branch == "active"}


class RejectedQuery(PageQuery):
    reason: str | None = Field(None, max_length=50, description="one word: not_json, truncated, glued, …")
    session: str | None = Field(None, max_length=500)


class AgentEventOut(EventOut):
    session_id: str


class AgentTurnPage(Page[TurnOut]):
    pass
