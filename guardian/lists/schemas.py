"""What the API says of writes, and their filters, the same as on the page."""

from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import LARGEST_FIRST, SEGMENT, Moments, Schema

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from .audit_list import SEGMENTS, AuditFilters

STATUS = Literal[tuple(WriteGuardianAudit.Status.values)]
ORIGIN = Literal[tuple(WriteGuardianAudit.Origin.values)]
SESSION = "id or key of a session; a key that several sessions had is searched for"


class GuardianWriteQuery(Moments):
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


class GuardianWriteOut(Schema):
    """One write to a memory file, without its diff."""

    id: str
    decision_id: str | None
    turn_id: str | None
    session_id: str | None = Field(description="the key of the session as it was told if no session was found")
    session_key: str | None
    target_file: str | None
    candidate_fact: str | None
    status: STATUS  # type: ignore[valid-type]
    reason: str | None
    lines_added: int | None = Field(description="null: what the file held is not known; the same for the next two")
    lines_removed: int | None
    lines_modified: int | None = Field(description="of each changed place the smaller of added and removed lines")
    llm_model: str | None
    llm_latency_ms: int | None
    agent_steps: int | None
    created_at: int
    origin: ORIGIN  # type: ignore[valid-type]
    match: str = Field(description="how the turn was found: `given`, `exact`, `near` or `none`")
    sources: list[str] = Field(description="who told of it: `api`, `log`, `database`, `files`, `own`")
    is_diff_shared: bool = Field(description="several writes came between two known versions and share one diff")
    earliest_at: int | None = Field(description="of an unattributed write: the file was last seen without it then")
    retry_of: str | None = Field(description="id of the write that was asked for again")
    rule_id: str | None = Field(description="id of the rule that applies to this write")
    before_snapshot_id: str | None
    after_snapshot_id: str | None

    @staticmethod
    def resolve_sources(row: Any) -> list[str]:
        """The bits as words."""
        return [source.name.lower() for source in WriteGuardianAudit.Source if row.sources & source]
