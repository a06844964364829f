"""Finds the decision, turn and session that caused a write.

They are reported, or found by fact, session key and time.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agents.homes import normalise_or_empty
from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import turn_matching
from ledger import consent
from ledger.models import ConversationTurn
from ledger.transcripts.reported_turns import find_turns

from ..files import FILE_OF
from ..models import ProvenanceRecord, WriteGuardianAudit

Match = MemoryGateDecision.Match
KINDS = {name: kind for kind, name in FILE_OF.items()}  # UPDATE_USER leads to writes of USER.md
BEFORE_MS = 60_000  # between a decision and its write
EARLY_MS = 2_000  # clocks differ


@dataclass(frozen=True, slots=True)
class WriteProvenance:
    """The provenance of a write, as far as it is known.

    `session_id` is a key where no session was found.
    """

    decision_id: str | None
    turn_id: str | None
    session_id: str | None
    session_key: str | None
    match: str

    @property
    def columns(self) -> dict[str, Any]:
        return asdict(self)


def find_provenance(
    agent: Agent,
    *,
    keys: Sequence[str | None],
    decision_id: str | None,
    turn_id: str | None = None,
    fact: str | None,
    at: int,
    target_file: str | None,
    kind: str = "",
) -> WriteProvenance:
    """Find the provenance of a write by its decision or turn, fact, or time.

    `keys` are the key of its session, and other names of it.
    """
    decisions = MemoryGateDecision.objects.using(agent.db).defer("raw_response")
    decision = decisions.filter(id=decision_id).first() if decision_id else None
    if decision is None:
        decision = find_decision(agent.db, fact=fact, at=at, kind=kind, target_file=target_file)
    decision_id = decision.id if decision else decision_id
    if turn := find_turns(agent.db, [(keys[0], turn_id)]).get((keys[0], turn_id)):
        return from_turn(turn, keys[0], decision_id)
    if decision and (decision.turn_id or not any(keys)):
        return replace(from_decision(decision), session_key=keys[0] or decision.session_key)
    return replace(match_by_time(agent, keys, at), decision_id=decision_id)


def find_decision(db: str, *, fact: str | None, at: int, kind: str = "", target_file: str | None = None) -> Any:
    """Return the decision that a write at the moment `at` carried out; None without one.

    It is the last one before the write with its fact and kind.
    """
    kind = kind or KINDS.get(target_file or "", "")
    if not fact or not kind:
        return None
    rows = MemoryGateDecision.objects.using(db).filter(
        decision=kind, candidate_fact=fact, created_at__gte=at - BEFORE_MS, created_at__lte=at + EARLY_MS
    )
    return rows.defer("raw_response").order_by("-created_at", "-id").first()


def from_decision(decision: MemoryGateDecision) -> WriteProvenance:
    return WriteProvenance(decision.id, decision.turn_id, decision.session_id, decision.session_key, decision.match)


def from_turn(turn: ConversationTurn, key: str | None, decision_id: str | None) -> WriteProvenance:
    """Return the provenance of a write whose source named its turn."""
    return WriteProvenance(decision_id, turn.id, turn.session_id, key, Match.GIVEN)


def match_by_time(agent: Agent, keys: Iterable[str | None], at: int) -> WriteProvenance:
    """Return the provenance of a write without a decision: its session's turn nearest in time."""
    known = [key for key in keys if key]
    if not known:
        return WriteProvenance(None, None, None, None, Match.NONE)
    match = turn_matching.match_turn(agent.db, agent.agent_id, known, at, None)
    return WriteProvenance(None, match.turn_id, match.session_id, known[0], match.match)


Origin = WriteGuardianAudit.Origin
RECORD_EARLY_MS, RECORD_LATE_MS = 1_000, 60_000  # a record is stored after its file was modified
MOST_ROWS = 1_000  # unreported changes of one agent, and records, that are compared at once


def attribute_writes(agent: Agent) -> int:
    """Give unattributed changes that a record names their session and turn; return how many.

    A record names a change when the file had the recorded hash after it and the recorded time lies in it. Of agents
    that share a workspace, the change belongs to the agent of the record's session.
    """
    rows = WriteGuardianAudit.objects.using(agent.db).filter(origin=Origin.UNATTRIBUTED)
    rows = rows.select_related("after_snapshot").defer("diff", "hunks_json", "after_snapshot__content")
    changes = list(rows.order_by("-created_at")[:MOST_ROWS])
    records = _read_records(agent) if changes else {}
    attributed = 0
    for change in changes:
        key = (change.target_file, change.after_snapshot.content_hash if change.after_snapshot else "")
        record = next((record for record in records.get(key, ()) if _is_within(record, change)), None)
        attributed += record is not None and _attribute(agent, change, record)
    return attributed


def _read_records(agent):
    """Return the records of this agent's sessions by file name and hash, newest first."""
    rows = ProvenanceRecord.objects.using(agent.db).filter(state=ProvenanceRecord.State.KNOWN)
    records = defaultdict(list)
    for row in rows.order_by("-first_seen_at", "-id")[:MOST_ROWS]:
        parts = row.session_key.split(":")
        if len(parts) > 2 and normalise_or_empty(parts[1]) == normalise_or_empty(agent.home_name):
            records[row.file_name, row.file_hash].append(row)
    return records


def _is_within(record, change):
    since = (change.earliest_at or 0) - RECORD_EARLY_MS
    return record.observed_at is not None and since <= record.observed_at <= change.created_at + RECORD_LATE_MS


def _attribute(agent, change, record):
    provenance = match_by_time(agent, [record.session_id or record.session_key], record.observed_at)
    if consent.find_withheld_keys(agent.db, [provenance.turn_id]):
        return False
    columns = provenance.columns | {"session_key": record.session_key, "origin": Origin.AGENT}
    rows = WriteGuardianAudit.objects.using(agent.db).filter(id=change.id, origin=Origin.UNATTRIBUTED)
    return bool(rows.update(**columns))
