"""Matches writes to the snapshots of a file that imports saw, and finds unattributed changes.

A reported write without snapshots lies between the two snapshots around its time. Where no reported write lies between
two snapshots, something else changed the file: that is a write of its own, `unattributed`. The stored rows follow from
snapshots and reported writes alone, in whichever order these came.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents import databases
from agents.models import Agent
from openclaw_web.sqlite import write_queue

from .. import services
from ..changes import Change, ChangeCache, compute_change
from ..models import BehaviorCorrection, Consolidation, FileSnapshot, GuardianStatus, Rollback, WriteGuardianAudit
from ..services import DamagedVersion, read_version_bytes
from . import reports, snapshot_pairs, sql
from .reports import Origin, Source, Status, build_change_columns
from .snapshot_pairs import QUIET_MS, SnapshotPair

CONSOLIDATION = "consolidation"  # the reason of changes by the plugin's consolidation
BRACKET_MS = 600_000  # between a change and the log lines of its consolidation
SLACK_MS = 1_000
Rows = dict[str, WriteGuardianAudit]
Diffs = Callable[[str | None, str], Change | None]


def compute_change_id(version_id: str) -> str:
    """Compute the id of the unattributed change that led to a snapshot: always the same."""
    return f"u{hashlib.sha256(version_id.encode()).hexdigest()[:31]}"


def find_rows(db: str, name: str, pairs: Sequence[SnapshotPair]) -> Rows:
    """Return the rows of unattributed changes by id, from the first of these pairs on."""
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    rows = rows.filter(created_at__gte=pairs[0].at) if pairs else rows.none()
    return {row.id: row for row in rows.defer("diff", "hunks_json")}


def sync_row(db: str, name: str, pair: SnapshotPair, rows: Rows, diffs: Diffs, result: Any, *, is_shared: bool) -> None:
    """Create, update or replace the row of an unattributed change between two snapshots.

    Once a source has reported the change, its write gets what people did about the row.
    """
    audits = WriteGuardianAudit.objects.using(db)
    row = rows.get(compute_change_id(pair.after))
    if pair.is_unattributed:
        columns = {
            "before_snapshot_id": pair.before,
            "after_snapshot_id": pair.after,
            "is_diff_shared": is_shared,
            "created_at": pair.at,
            "earliest_at": pair.since,
        }
        if row is None:
            _add_row(db, name, pair, columns | build_change_columns(diffs(pair.before, pair.after)))
            result.unattributed += 1
        elif any(getattr(row, column) != value for column, value in columns.items()):
            audits.filter(id=row.id).update(**columns, **build_change_columns(diffs(pair.before, pair.after)))
        return
    reported_id = pair.owner or (pair.inexact_writes[-1].id if pair.inexact_writes else None)
    if row is not None and reported_id is not None and reports.may_replace(db, row.id, reported_id):
        reports.replace_write(db, row, audits.get(id=reported_id))
        result.withdrawn += 1
    elif row is not None and (pair.is_same or pair.is_of_another) and not _is_acted_on(db, row.id):
        row.delete(using=db)
        result.withdrawn += 1


def _add_row(db, name, pair, columns):
    row = WriteGuardianAudit(
        id=compute_change_id(pair.after),
        target_file=name,
        status=Status.WRITTEN,
        reason=_find_reason(db, pair.at),  # the log may add a reason later
        origin=Origin.UNATTRIBUTED,
        sources=Source.FILES,
        **columns,
    )
    sql.insert_rows(db, [row])
    status = GuardianStatus(audit_id=row.id, status=row.status, given_by="", created_at=row.created_at)
    sql.insert_rows(db, [status])


def remove_stale_rows(db: str, pairs: Sequence[SnapshotPair], rows: Rows, result: Any) -> None:
    """Remove rows of changes that no longer exist, unless people acted on them."""
    for row_id in rows.keys() - {compute_change_id(pair.after) for pair in pairs}:
        if not _is_acted_on(db, row_id):
            WriteGuardianAudit.objects.using(db).filter(id=row_id).delete()
            result.withdrawn += 1


def _is_acted_on(db, row_id):
    kinds = (Rollback.objects.using(db), BehaviorCorrection.objects.using(db))
    return reports.is_being_rolled_back(db, row_id) or any(rows.filter(audit=row_id).exists() for rows in kinds)


def store_consolidations(db: str, moments: Iterable[int]) -> None:
    """Store when the plugin's log reports its consolidation, and name the changes it made."""
    known_moments = sorted(set(moments))
    if not known_moments:
        return
    Consolidation.objects.using(db).bulk_create([Consolidation(at=at) for at in known_moments], ignore_conflicts=True)
    rows = WriteGuardianAudit.objects.using(db).filter(origin=Origin.UNATTRIBUTED)
    near = rows.filter(created_at__gte=known_moments[0] - BRACKET_MS, created_at__lte=known_moments[-1] + BRACKET_MS)
    for row in near.only("id", "created_at", "reason"):
        if row.reason != (reason := _find_reason(db, row.created_at)):
            rows.filter(id=row.id).update(reason=reason)


def _find_reason(db, at):
    """Return the known reason of a change at this moment.

    A change between two lines of one consolidation has its reason.
    """
    lines = Consolidation.objects.using(db)
    before, after = (at - BRACKET_MS, at + SLACK_MS), (at - SLACK_MS, at + BRACKET_MS)
    is_between = all(lines.filter(at__range=span).exists() for span in (before, after))
    return CONSOLIDATION if is_between else None


PREFIX = "agent_"  # of the aliases of agents' files


def mark_shared_changes(db: str, name: str, pairs: Iterable[SnapshotPair]) -> None:
    """Mark the snapshot pairs that a write of another agent of the workspace explains."""
    open_pairs = [pair for pair in pairs if pair.is_unattributed]
    others = _find_other_agents(db) if open_pairs else []
    if not others:
        return
    rows = services.find_versions(db, name).filter(id__in=[pair.after for pair in open_pairs])
    hashes = dict(rows.values_list("id", "content_hash"))
    moments = _find_moments(others, name, set(hashes.values()))
    for pair in open_pairs:
        pair.is_of_another = _is_explained(moments, hashes.get(pair.after, ""), pair.at)


def find_explained_since(db: str, name: str) -> int | None:
    """Return the first moment of stored unattributed changes that another agent reported since.

    None without such changes.
    """
    others = _find_other_agents(db)
    if not others:
        return None
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    changes = list(rows.values_list("created_at", "after_snapshot__content_hash"))
    moments = _find_moments(others, name, {digest for _at, digest in changes if digest})
    return min((at for at, digest in changes if _is_explained(moments, digest, at)), default=None)


def _is_explained(moments, digest, at):
    return any(abs(at - moment) <= QUIET_MS for moment in moments.get(digest, ()))


def _find_other_agents(db) -> list[str]:
    """Return the aliases of the other agents with the same workspace."""
    agent_id = db.removeprefix(PREFIX)
    workspace = Agent.objects.filter(agent_id=agent_id).exclude(workspace="").values("workspace")
    rows = Agent.objects.filter(workspace__in=workspace).exclude(agent_id=agent_id)
    return list(filter(None, map(databases.find_alias, rows.values_list("agent_id", flat=True))))


def _find_moments(others, name, hashes) -> dict[str, list[int]]:
    """Return by hash when known writes of other agents led to this content."""
    moments: dict[str, list[int]] = defaultdict(list)
    for other in others:
        rows = WriteGuardianAudit.objects.using(other).filter(target_file=name, after_snapshot__content_hash__in=hashes)
        rows = rows.exclude(origin=Origin.UNATTRIBUTED)
        for digest, at in rows.values_list("after_snapshot__content_hash", "created_at"):
            moments[digest].append(at)
    return moments


@dataclass(slots=True)
class MatchResult:
    """The result of a match: matched writes, and new and removed unattributed changes."""

    attached: int = 0
    unattributed: int = 0
    withdrawn: int = 0  # unattributed changes that were removed, since they are explained now


@dataclass(slots=True)
class _Diffs:
    """Diffs between snapshots, each computed once, and before the write lock where possible."""

    db: str
    name: str
    changes: ChangeCache = field(default_factory=ChangeCache)

    def get(self, before: str | None, after: str) -> Change | None:
        """Return the change between two snapshots; None where one lacks bytes."""
        sides = tuple(snapshot_id and _parse_hash(snapshot_id) for snapshot_id in (before, after))
        return self.changes.get(self.name, sides, lambda: self._compute((before, after)))

    def _compute(self, pair):
        versions = FileSnapshot.objects.using(self.db).in_bulk([snapshot_id for snapshot_id in pair if snapshot_id])
        try:
            old, new = (read_version_bytes(versions[snapshot_id]) if snapshot_id else None for snapshot_id in pair)
        except DamagedVersion:
            return None
        return compute_change(old, new, versions[pair[1]].file_name)


def _parse_hash(version_id):
    """Return the hash in the id of a snapshot; the id where it has none."""
    parts = version_id.rsplit("@", 2)
    return parts[1] if len(parts) == 3 and len(parts[1]) == 32 else version_id


def match_snapshots(db: str, name: str, *, since: int = 0) -> MatchResult:
    """Match the writes of a file to its snapshots, from the moment `since` on.

    A second run changes nothing.
    """
    diffs = _Diffs(db, name)
    pairs = snapshot_pairs.read_snapshot_pairs(db, name, since).pairs
    mark_shared_changes(db, name, pairs)
    rows = find_rows(db, name, pairs)
    for pair in pairs:  # the slow part, before the write lock
        is_attached = all((write.before, write.after) == (pair.before, pair.after) for write in pair.inexact_writes)
        if not is_attached or (pair.is_unattributed and compute_change_id(pair.after) not in rows):
            diffs.get(pair.before, pair.after)
    with write_queue.agent_transaction(db):
        return match_in_transaction(db, name, since=since, changes=diffs.changes)


def match_in_transaction(db: str, name: str, *, since: int = 0, changes: ChangeCache | None = None) -> MatchResult:
    """Match the writes of a file in the caller's transaction.

    `changes` are diffs that were computed before.
    """
    diffs, result = _Diffs(db, name, changes or ChangeCache()), MatchResult()
    file_pairs = snapshot_pairs.read_snapshot_pairs(db, name, since)
    mark_shared_changes(db, name, file_pairs.pairs)
    rows = find_rows(db, name, file_pairs.pairs)
    for pair in file_pairs.pairs:
        is_shared = len(pair.inexact_writes) + pair.is_unattributed > 1
        for write in pair.inexact_writes:
            result.attached += _attach(db, write, pair, diffs, is_shared=is_shared)
        sync_row(db, name, pair, rows, diffs.get, result, is_shared=is_shared)
    for write in file_pairs.detached:
        columns = {"before_snapshot": None, "after_snapshot": None, "is_diff_shared": False}
        columns["sources"] = write.sources & ~Source.FILES
        WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns, **build_change_columns(None))
    remove_stale_rows(db, file_pairs.pairs, rows, result)
    return result


def _attach(db, write: snapshot_pairs.Write, pair: SnapshotPair, diffs, *, is_shared):
    """Give a reported write the snapshots around it; return whether that is new."""
    is_same = (write.before, write.after, write.is_shared) == (pair.before, pair.after, is_shared)
    if is_same and write.sources & Source.FILES:
        return 0
    columns = {"before_snapshot": pair.before, "after_snapshot": pair.after, "is_diff_shared": is_shared}
    columns["sources"] = write.sources | Source.FILES
    columns |= build_change_columns(diffs.get(pair.before, pair.after))
    WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns)
    return int(write.after is None)


def match_new_snapshots(db: str, name: str) -> MatchResult:
    """Match from the first snapshot that no write leads to, or that another agent explains now."""
    moments = (snapshot_pairs.find_unmatched_since(db, name), find_explained_since(db, name))
    since = min((at for at in moments if at is not None), default=None)
    return MatchResult() if since is None else match_snapshots(db, name, since=since)
