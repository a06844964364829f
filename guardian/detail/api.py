"""Endpoints that read writes to memory files in the JSON API."""

from datetime import date
from typing import Any, Literal

from django.http import Http404
from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from gate.models import MemoryGateDecision
from gate.schemas import RecordedOut
from ledger.session.schemas import EvidenceOut, TurnOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema

from ..corrections.schemas import CorrectionOut
from ..files import MEMORY_FILES
from ..models import BehaviorCorrection, GuardianStatus, Rollback
from ..recording import api_import
from ..recording.schemas import WritesIn
from ..schemas import Hunk, StandingOut, VersionOut
from . import api_detail, history, weeks
from .audit_list import WRITES
from .schemas import GuardianWriteOut, GuardianWriteQuery


class GuardianDecisionOut(table_schema(MemoryGateDecision, "id", "reason", "created_at")):
    """The decision of memory_gate behind a write."""

    decision: str


class GuardianStatusOut(table_schema(GuardianStatus)):
    """A status that a write had from a moment on."""


class GuardianRollbackOut(table_schema(Rollback)):
    """How a write was taken back."""


class GuardianRuleOut(table_schema(BehaviorCorrection, "id", "correction_pattern", "correction_reason")):
    """The rule that applies to a write."""

    name: str = Field(description="in words")


class GuardianWriteDetail(GuardianWriteOut):
    """One write with its change, its origin and its outcome."""

    diff: str | None = Field(description="unified, as it was when it was written; null: not known")
    change_unknown: str | None = Field(description="why what it changed is not known; null: known, or nothing changed")
    before: VersionOut | None = Field(description="null: there was no file, or what it held is not known")
    after: VersionOut | None
    hunks: list[Hunk] = Field(description="the changed places with the characters that changed")
    left: int = Field(description="changed lines that are not in `hunks`, because the answer would be too long")
    is_coarse: bool = Field(description="too large or too different to compare word by word")
    turn: TurnOut | None = Field(description="null: no turn was found, or it is no longer stored")
    evidence: EvidenceOut
    decision: GuardianDecisionOut | None = Field(description="null: not known, or no longer stored")
    rule: GuardianRuleOut | None
    status_history: list[GuardianStatusOut] = Field(description="oldest first")
    rolled_back: GuardianRollbackOut | None = Field(description="null: it was not rolled back")
    is_back_in_file: bool = Field(description="it was rolled back, and that was rolled back as well: `status` stays")
    takes_back: list[str] = Field(description="ids of writes that this rollback took back")
    retries: list[str] = Field(description="ids of writes that asked for it again")
    shared_with: list[str] = Field(description="ids of other writes with the same diff")
    turns_in_window: list[str] = Field(description="ids of the last turns in which an unattributed write may be")
    corrections: list[CorrectionOut] = Field(description="oldest first, the last 100: the last one stands")
    is_elsewhere: bool = Field(description="told in a workspace that no agent has: its files are others")

    @staticmethod
    def resolve_corrections(row: Any) -> list[dict[str, Any]]:
        return row.corrected


class GuardianEventOut(Schema):
    """A write or a version of a file."""

    at: int
    kind: Literal["write", "version"]
    audit: GuardianWriteOut | None = Field(description="of a write, whatever its status")
    version: VersionOut | None = Field(description="of a version")
    led_by: list[str] = Field(description="ids of the writes that led to this version")

    @staticmethod
    def resolve_led_by(event: Any) -> list[str]:
        """Return the ids alone."""
        return [row.id for row in event.led_by]


class GuardianBlameRun(Schema):
    """Neighbouring lines that came from the same write, or from an unknown one."""

    first: int = Field(description="number of the first line")
    last: int
    known: Literal["write", "gap", "before"] = Field(
        description="`gap`: a version is missing, and who changed it is not known; `before`: before the first write"
    )
    audit_id: str | None
    turn_id: str | None
    session_id: str | None
    message_id: str | None = Field(description="id of the record with the message")
    since: int | None = Field(description="of a gap: it was changed after this time")
    until: int | None = Field(description="of a gap: and before this time; null: up to now")


class GuardianBlameOut(Schema):
    """The write behind each line of a file."""

    version: VersionOut = Field(description="the newest one, which has these lines")
    line_count: int
    first_at: int | None = Field(description="of the first write that was followed; null: no write is known")
    is_cut: bool = Field(description="too many versions are missing: earlier writes were not followed")
    standing: StandingOut = Field(description="of the file with OpenClaw")
    runs: list[GuardianBlameRun]


class GuardianLineOut(Schema):
    """A line of a memory file as it is now."""

    file: str
    number: int
    text: str = Field(description="without its ending")


class GuardianLeftOut(Schema):
    """A write with the lines that the memory files still have from it.

    Its rollback removes them.
    """

    audit_id: str
    created_at: int
    turn_id: str | None = Field(description="null: not known, or no longer stored")
    session_id: str | None
    lines: list[GuardianLineOut]


class GuardianOptedOut(Schema):
    """Lines of memory files that come from people who opted out.

    Blank lines are nobody's; all is empty while nobody has opted out.
    """

    is_asked: bool = Field(description="whether anybody has opted out")
    theirs: list[GuardianLeftOut] = Field(description="whose words may not be used; newest first, 100 at most")
    unknown: list[GuardianLeftOut] = Field(description="from writes without a known turn; newest first, 100 at most")
    without_write: dict[str, int] = Field(description="by file, how many lines no write leads to")
    more: int = Field(description="writes beyond the first 100 of each kind")


class GuardianChartQuery(Schema):
    weeks: Literal["12", "26", "52"] = Field("12", description="how many, this one included")
    file: Literal[MEMORY_FILES] | None = None  # type: ignore[valid-type]


class GuardianWeek(Schema):
    """How many writes of a week have each status; rollbacks are counted apart."""

    first_day: date = Field(description="a Monday, UTC")
    last_day: date
    written: int
    rolled_back: int = Field(description="writes of this week that were rolled back since")
    refused: int
    failed: int
    skipped: int
    rollbacks: int
    unattributed: int = Field(description="of all these")


class GuardianChartOut(Schema):
    file: str | None
    weeks: list[GuardianWeek] = Field(description="oldest first")


router = Operations("guardian_recording_api", tags=["guardian"])


@router.post("/agents/{agent}/guardian/writes", {201: RecordedOut, 200: RecordedOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_record(request, agent, body: WritesIn):
    """Record writes of a running plugin: up to 100 in at most 5 MB.

    All are recorded or none. The same id with other content: 409.
    """
    result = api_import.record_reports(agent, body.writes, by=request.user.get_username())
    answer = {"recorded": result.new, "known": result.known, "withheld": result.withheld}
    return Status(201 if result.new else 200, answer)


# the POST of the same address has this router


MOST_CHARACTERS = 2_000_000  # of facts and reasons in one answer


@router.get("/agents/{agent}/guardian/writes", Page[GuardianWriteOut], 404, 409, 503)
@agent_view_for("viewer")
def guardian_write_list(request, agent, filters: Query[GuardianWriteQuery]):
    """Writes to memory files, newest first. A search may return fewer than `limit`, and a `next`."""
    listing = WRITES.fits(agent, **filters.criteria())
    return page_to_json(listing.page(**filters.place, budget=MOST_CHARACTERS, weigh=_count_characters))


@router.get("/agents/{agent}/guardian/writes/{audit_id}", GuardianWriteDetail, 404, 503)
@agent_view_for("viewer")
def guardian_write_detail(request, agent, audit_id: str):
    """One write with its diff, its turn and decision, its statuses and its rollback."""
    return api_detail.read_write(agent, audit_id)


@router.get("/agents/{agent}/guardian/files/{name}/history", Page[GuardianEventOut], 404, 409, 503)
@agent_view_for("viewer")
def guardian_file_history(request, agent, name: str, filters: Query[PageQuery]):
    """Writes and versions of a memory file, newest first."""
    if name not in MEMORY_FILES:
        raise Http404
    return page_to_json(history.read_timeline(agent, name, **filters.place))


@router.get("/agents/{agent}/guardian/files/{name}/blame", GuardianBlameOut, 404, 503)
@agent_view_for("viewer")
def guardian_file_blame(request, agent, name: str):
    """The write, turn and message behind each line of a memory file, where known."""
    blame = api_detail.read_blame(agent, name)
    if blame is None:
        raise Http404
    return blame


@router.get("/agents/{agent}/guardian/opted-out", GuardianOptedOut, 404, 503)
@agent_view_for("viewer")
def guardian_opted_out(request, agent):
    """The lines of memory files that come from people who opted out, by write."""
    return api_detail.read_opted_out(agent)


@router.get("/agents/{agent}/guardian/chart", GuardianChartOut, 404, 409, 503)
@agent_view_for("viewer")
def guardian_chart(request, agent, filters: Query[GuardianChartQuery]):
    """Writes, refusals, failures and rollbacks by ISO week (UTC), the oldest first."""
    week_counts = weeks.count_weeks(agent, file=filters.file or "", weeks=int(filters.weeks))
    return {"file": filters.file, "weeks": [week.api_fields for week in week_counts]}


def _count_characters(row):
    return len(row.reason or "") + len(row.candidate_fact or "")
