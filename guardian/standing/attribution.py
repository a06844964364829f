"""Attributes changes of memory files to the agent that OpenClaw's records name.

Such changes are no longer unattributed.
"""

from collections import defaultdict

from agents.homes import normalise_or_empty
from agents.models import Agent
from ledger import consent

from ..models import ProvenanceRecord, WriteGuardianAudit
from ..recording import write_provenance

Origin = WriteGuardianAudit.Origin
EARLY_MS, LATE_MS = 1_000, 60_000  # a record is stored after its file was modified
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
    since = (change.earliest_at or 0) - EARLY_MS
    return record.observed_at is not None and since <= record.observed_at <= change.created_at + LATE_MS


def _attribute(agent, change, record):
    provenance = write_provenance.match_by_time(agent, [record.session_id or record.session_key], record.observed_at)
    if consent.find_withheld_keys(agent.db, [provenance.turn_id]):
        return False
    columns = provenance.columns | {"session_key": record.session_key, "origin": Origin.AGENT}
    rows = WriteGuardianAudit.objects.using(agent.db).filter(id=change.id, origin=Origin.UNATTRIBUTED)
    return bool(rows.update(**columns))
