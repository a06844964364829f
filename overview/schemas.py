"""Schemas of the sums of all agents in the JSON API."""

from typing import Literal

from pydantic import Field

from guardian.schemas import STATE
from ledger.session.schemas import COST, UNPRICED
from openclaw_web.endpoints.schemas import PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .memory_list import MemoryFilters
from .models import AgentDailyStat, AgentSummary, MemoryStanding
from .ranges import SIZES


class OverviewQuery(Schema):
    days: int = Field(35, ge=0, le=366, description="maximum number of days")
    range: Literal[tuple(SIZES)] | None = Field(None, description="add what the first page shows of this range")  # type: ignore[valid-type]


SUMS = ("session_count", "turn_count", "error_count", "total_tokens", "cost_usd", "unpriced_tokens", "rejected_count")


class TotalsOut(table_schema(AgentSummary, *SUMS, "last_collected_at")):
    agent_count: int
    future_session_count: int = Field(description="sessions whose last activity lies in the future; it counts as now")
    future_record_count: int


class DayOut(table_schema(AgentDailyStat)):
    pass


class RangeSumsOut(Schema):
    turns: int = Field(description="of sessions that are here")
    removed_turns: int = Field(description="of sessions that were removed because of their age")
    errors: int
    tokens: int
    cost: float | None = COST
    unpriced: int = UNPRICED
    p95: int | None = Field(description="answer time in milliseconds, at most 4.5 % off; null: nothing was answered")
    written: int = Field(description="writes to memory files that are in force")
    rolled_back: int
    refused: int


class ModelCostOut(Schema):
    model: str = Field(description="empty: unknown, or more models than are counted one by one")
    cost: float
    unpriced: int


class RangeOut(Schema):
    name: str
    from_ts: int
    to_ts: int = Field(description="milliseconds: before this time")
    is_shifted: bool = Field(description="nothing happened since: the range ends with the last activity")
    now: RangeSumsOut
    before: RangeSumsOut = Field(description="the same time before it")
    models: list[ModelCostOut]


class OverviewOut(Schema):
    totals: TotalsOut
    days: list[DayOut] = Field(description="days with activity, oldest first")
    range: RangeOut | None = Field(None, description="null unless asked for")


COLUMNS = {"cost_usd": "known_cost"}  # columns with another one to order by
SUMMARY_ORDERS = {
    f"{sign}{name}": tuple(f"{sign}{column}" for column in dict.fromkeys((COLUMNS.get(name, name), "agent_id")))
    for name in ("agent_id", "session_count", "turn_count", "error_count", "total_tokens", "cost_usd", "rejected_count")
    for sign in ("", "-")
}


class SummaryQuery(PageQuery):
    sort: Literal[tuple(SUMMARY_ORDERS)] = Field("agent_id", description="a column; with a leading `-`: largest first")  # type: ignore[valid-type]


class SummaryOut(table_schema(AgentSummary)):
    pass


class MemoryQuery(list_query(MemoryFilters)):
    pass


class MemoryOut(table_schema(MemoryStanding)):
    """The standing of one memory file with OpenClaw."""

    state: STATE  # type: ignore[valid-type]
