"""Schemas of writes in the API, and their filters, which are those of the page."""

from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import LARGEST_FIRST, SEGMENT, TimeRangeQuery
from openclaw_web.endpoints.table_schemas import table_schema

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from .audit_list import SEGMENTS, AuditFilters

STATUS = Literal[tuple(WriteGuardianAudit.Status.values)]
ORIGIN = Literal[tuple(WriteGuardianAudit.Origin.values)]
SESSION = "id or key of a session; a key that several sessions had is searched for"


class GuardianWriteQuery(TimeRangeQuery):
    file: Literal[MEMORY_FILES] | None = None  # type: ignore[valid-type]
    status: STATUS | None = None  # type: ignore[valid-type]
    origin: ORIGIN | None = None  # type: ignore[valid-type]
    segment: Literal[tuple(SEGMENTS.parts)] = Field("all", description=SEGMENT)  # type: ignore[valid-type]
    session: str | None = Field(None, max_length=500, description=SESSION)
    decision: str | None = Field(None, max_length=500, description="id of a decision of memory_gate")
    turn: str | None = Field(None, max_length=1_000, description="id of a turn")
    rule: str | None = Field(None, max_length=500, description="id of a rule")
    flagged: bool = Field(False, description="only writes that a rule applies to")
    unmatched: bool = Field(False, description="only writes without a turn")
    q: str = Field("", max_length=200, description="words in the fact or the reason; a page searches for 200 ms")
    sort: Literal[AuditFilters.sorts()] = Field(  # type: ignore[valid-type]
        AuditFilters.DEFAULT, description=LARGEST_FIRST
    )


class GuardianWriteOut(table_schema(WriteGuardianAudit)):
    """One write to a memory file, without its diff."""

    sources: list[str] = Field(description="who told of it: `api`, `log`, `database`, `files`, `own`")

    @staticmethod
    def resolve_sources(row: Any) -> list[str]:
        """Return the words of the bits."""
        return [source.name.lower() for source in WriteGuardianAudit.Source if row.sources & source]
