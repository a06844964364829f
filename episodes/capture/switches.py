"""Switches capture on and off, and remembers how far each source was read."""

from typing import Any

from agents.models import Agent, AgentDatabase
from ledger.models import TranscriptEvent
from openclaw_web import clock
from openclaw_web.sqlite import write_queue
from people.audit import log as audit

from ..events import normalize_scope
from ..models import EpisodeCapture

ROW_ID = 1  # the only row of an agent
# Names of sources in EpisodeCapture.positions. START_MS is no source: rows before it are never captured.
TRANSCRIPTS, JOBS, SCHEDULES, WRITES = "transcripts", "jobs", "schedules", "writes"
START_MS = "start_ms"
MOMENT_SOURCES = (JOBS, SCHEDULES, WRITES)
UNKNOWN_COUNT = -1  # of a position that fits no file: everything since the start is read


def read_capture(db: str) -> EpisodeCapture:
    """Return the switch of an agent; where nobody set it, an unsaved row that is off."""
    return EpisodeCapture.objects.using(db).filter(id=ROW_ID).first() or EpisodeCapture(id=ROW_ID)


def build_scope(agent: Agent, capture: EpisodeCapture) -> str:
    """Return the scope of captured events that name no other one."""
    return capture.scope or normalize_scope(f"agent:{agent.agent_id}")


def set_capture(
    agent: Agent,
    *,
    is_on: bool,
    scope: str | None = None,
    allows_tool_output: bool = False,
    by: str,
    since_ms: int | None = None,
) -> EpisodeCapture:
    """Set the capture of an agent and return it.

    Switching on begins with what is stored from now on, or with what happened since `since_ms` (milliseconds).
    `scope`: None means `agent:<id>`. Raises WrongScope for a scope of which nothing is left.
    """
    scope = normalize_scope(scope) if scope else None
    now = clock.now_ms()
    with write_queue.agent_transaction(agent.db):
        capture = read_capture(agent.db)
        if is_on and (not capture.is_on or since_ms is not None):
            capture.positions = _build_positions(agent, now, since_ms)
        capture.is_on, capture.scope, capture.allows_tool_output = is_on, scope, allows_tool_output
        capture.changed_by, capture.changed_at = by, now
        capture.save(using=agent.db)
    detail = {"is_on": is_on, "scope": scope or "", "allows_tool_output": allows_tool_output, "since_ms": since_ms}
    audit.record(by, "episodes_capture", object_type="episode", agent_id=agent.agent_id, **detail)
    return capture


def _build_positions(agent, now, since_ms):
    start = now if since_ms is None else since_ms
    place = build_place(agent, find_last_row(agent.db)) if since_ms is None else {"at": None, "count": UNKNOWN_COUNT}
    return {START_MS: start, TRANSCRIPTS: place, **dict.fromkeys(MOMENT_SOURCES, start)}


def find_last_row(db: str) -> tuple[str, int] | None:
    """Return session and number of the record that was stored last, None without one."""
    return TranscriptEvent.objects.using(db).placed().order_by("-place").values_list("session_id", "seq").first()


def build_place(agent: Agent, last_row: tuple[str, int] | None, count: int | None = None) -> dict[str, Any]:
    """Return the position after a record: the record, and the number of records up to it.

    `count`: None means that it is the last one of the file.
    """
    if count is None:
        count = AgentDatabase.get_record_count(agent.agent_id)
    at = [*last_row, find_record_id(agent.db, *last_row)] if last_row else None
    return {"at": at, "count": count}


def find_record_id(db: str, session_id: str, seq: int) -> str | None:
    """Return the id of a record, None for one that is not stored."""
    records = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq=seq)
    return records.values_list("event_id", flat=True).first()


def move(db: str, source: str, position: Any) -> None:
    """Store how far a source was read.

    The caller appends the events up to there in the same transaction.
    """
    capture = read_capture(db)
    positions = capture.positions | {source: position}
    EpisodeCapture.objects.using(db).filter(id=ROW_ID, is_on=True).update(
        positions_json=EpisodeCapture.positions.encode(positions)
    )
