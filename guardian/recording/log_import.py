"""Imports the writes in a plugin's log or database, however often they are read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording.turn_matching import is_joined
from ledger import consent
from ledger.collectors.database import DamagedDatabase
from openclaw_web.batches import in_batches
from openclaw_web.clock import now_ms
from openclaw_web.sqlite import write_queue

from ..changes import ChangeCache
from ..collectors.source_writes import SourceWrite
from ..files import MOST_BYTES
from ..models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from ..services import DamagedVersion, read_version_bytes, tell_taken_back
from . import write_store
from .reports import Conflict, FileChange, Origin, Report, Source, Status, StoreResult
from .write_provenance import find_provenance

CHUNK = 100  # writes in one transaction
HELD = 16 * 1024 * 1024  # bytes of contents that wait for a transaction
AGAIN = 2_000  # the newest writes without a turn, which are matched again after an import
BY = "plugin"
SOURCE = "reflection.db"  # names from it are not users of this site
IMPORT = "import"  # the user that switches off the rules of plugins
ChangeReader = Callable[[SourceWrite], FileChange | None]
CONTRADICTS = "its rollback, or a correction of it, contradicts what is stored"


@dataclass(slots=True)
class ImportResult:
    """The counts of an import.

    `refused` has the ids of writes that were not stored, each with the reason: an id that is taken, a damaged version.
    """

    writes: int = 0
    merged: int = 0
    known: int = 0
    withheld: int = 0
    unattributed: int = 0
    rollbacks: int = 0
    corrections: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def import_writes(
    agent: Agent,
    writes: Sequence[SourceWrite],
    source: Source,
    read_change: ChangeReader | None = None,
    *,
    is_elsewhere: bool = False,
    change_cache: ChangeCache | None = None,
) -> ImportResult:
    """Store the writes that were read for an agent, in order of time.

    Known writes stay as they are. `read_change` reads the contents of files. `is_elsewhere`: they come from a workspace
    that no agent has. `change_cache` keeps diffs from one call to the next.
    """
    result, change_cache = ImportResult(), change_cache or ChangeCache()
    ordered = sorted(writes, key=lambda write: write.at)
    for batch in in_batches(ordered, CHUNK):
        source_bits = Source.ELSEWHERE if is_elsewhere else 0
        known = write_store.find_known_ids(agent.db, [write.id for write in batch], source)
        result.known += len(known)
        reports: dict[str, tuple[Report, bool]] = {}
        for write in batch:
            if write.id in reports or (write.id in known and not _has_more(write)):
                continue
            reported = write.reported
            names = {"decision_id": reported.get("decision_id"), "turn_id": reported.get("turn_id"), "kind": write.kind}
            target = {"fact": write.fact, "at": write.at, "target_file": write.target_file}
            provenance = find_provenance(agent, keys=[write.session_key], **names, **target)
            if consent.find_withheld_keys(agent.db, [provenance.turn_id]):
                result.withheld += 1
                continue
            columns = {
                "id": write.id,
                "target_file": write.target_file,
                "candidate_fact": write.fact,
                # The rollback follows.
                "status": Status.WRITTEN if write.status == Status.ROLLED_BACK else write.status,
                "created_at": write.at,
                "origin": Origin.IMPORTED,
            }
            row = WriteGuardianAudit(**reported | columns | provenance.columns)
            report = Report(row=row, source=source, reporter=BY)
            report.row.sources = source_bits
            reports[write.id] = (report, write.id not in known)
        _store_batch(agent.db, reports, {write.id: write for write in batch}, read_change, change_cache, result)
    return result


def rematch_turns(agent: Agent, *, since: int | None = None) -> int:
    """Match writes without a turn again, since their decisions or turns may have come.

    Returns how many were matched.
    """
    alone = Q(turn_id=None, origin__in=(Origin.RECORDED, Origin.IMPORTED, Origin.AGENT))
    named = Q(Exists(MemoryGateDecision.objects.filter(id=OuterRef("decision_id"), turn_id__isnull=False)))
    chosen = is_joined() | alone & (named | Q(created_at__gte=since or 0))
    rows = WriteGuardianAudit.objects.using(agent.db).filter(chosen).order_by("-created_at")
    matched_count = 0
    for row in rows.defer("diff", "hunks_json")[:AGAIN]:
        provenance = find_provenance(
            agent,
            keys=[row.session_key, row.session_id],
            decision_id=row.decision_id,
            turn_id=row.turn_id,
            fact=row.candidate_fact,
            at=row.created_at,
            target_file=row.target_file,
        )
        if provenance.turn_id not in (None, row.turn_id) and not consent.find_withheld_keys(
            agent.db, [provenance.turn_id]
        ):
            WriteGuardianAudit.objects.using(agent.db).filter(id=row.id, turn_id=row.turn_id).update(
                **provenance.columns
            )
            matched_count += 1
    return matched_count


def _has_more(write):
    """Return whether a write has a rollback or corrections."""
    return write.status == Status.ROLLED_BACK or bool(write.rollback or write.corrections)


def _store_batch(db, reports, writes_by_id, read_change, change_cache, result):
    ids: dict[str, str] = {}
    for part in _add_contents([row for row, is_new in reports.values() if is_new], writes_by_id, read_change, result):
        stored = _store_without_conflicts(db, part, change_cache, result)
        result.writes += len(stored.new)
        result.merged += len(stored.merged)
        result.unattributed += stored.unattributed
        ids |= stored.ids
    follow_ups = [writes_by_id[name] for name in reports if _has_more(writes_by_id[name])]
    pairs = [
        (row_id, write)
        for write in follow_ups
        if (row_id := ids.get(write.id) or write_store.find_row_id(db, write.id))
    ]
    for row_id, write in pairs:
        if write.status == Status.ROLLED_BACK or write.rollback:
            result.rollbacks += _store_or_refuse(partial(_take_back, db, row_id, write), write, result)
    result.corrections += _store_corrections(db, pairs, result)


def _add_contents(new_reports, writes_by_id, read_change, result):
    """Yield the reports in lists, with the contents of files.

    A list has at most HELD bytes of contents and one more write.
    """
    part: list[Report] = []
    content_sizes: dict[int, int] = {}  # bytes of each content, by its identity: writes share them
    for report in new_reports:
        report.change = _read_contents(writes_by_id[report.key], read_change, result) if read_change else None
        part.append(report)
        sides = (report.change.before, report.change.after) if report.change else ()
        content_sizes |= {id(side): len(side) for side in sides if side}
        if sum(content_sizes.values()) > HELD:
            yield part
            for stored_report in part:
                stored_report.change = None
            part, content_sizes = [], {}
    yield part


def _store_without_conflicts(db, reports, change_cache, result) -> StoreResult:
    try:
        return write_store.store_reports(db, reports, change_cache)
    except Conflict as exc:
        taken_ids = {reason["id"] for reason in exc.reasons}
        result.refused += [(name, "another write has this id") for name in sorted(taken_ids)]
        return _store_without_conflicts(
            db, [report for report in reports if report.key not in taken_ids], change_cache, result
        )


def _read_contents(write, read_change, result):
    try:
        contents = read_change(write) if write.snapshots else None
        if contents and max(len(side or b"") for side in (contents.before, contents.after)) > MOST_BYTES:
            raise DamagedDatabase("a version of more than 5 MB")
        return contents
    except DamagedDatabase as exc:
        result.refused.append((write.id, str(exc)))
        return None


def _store_or_refuse(store, write, result):
    """Return the result of `store`; 0 where it contradicts stored rows.

    The rest of the import goes on.
    """
    try:
        return store()
    except (Conflict, IntegrityError):
        result.refused.append((write.id, CONTRADICTS))
        return 0


def _take_back(db, row_id, write):
    with write_queue.agent_transaction(db):
        row = WriteGuardianAudit.objects.using(db).filter(id=row_id, status=Status.WRITTEN).first()
        if row is None:
            return 0
        rollback = write.rollback
        at, by, reason = (rollback.at, rollback.by, rollback.reason) if rollback else (write.at, "", "")
        rollbacks = Rollback.objects.using(db)
        candidates = [rollback.id] if rollback else []
        rollback_id = _find_free_id(
            [*candidates, f"{row_id}@rollback"], lambda name: rollbacks.filter(id=name).exists()
        )
        Rollback.objects.using(db).create(
            id=rollback_id,
            audit=row,
            own_audit_id=_store_rollback_write(db, row, rollback_id, rollback) if rollback else None,
            rolled_back_at=at,
            rolled_back_by=_external_name(by),
            reason=reason,
            restored_snapshot_id=row.before_snapshot_id,
            previous_status=row.status,
        )
        WriteGuardianAudit.objects.using(db).filter(id=row_id).update(status=Status.ROLLED_BACK)
        status_columns = {"given_by": _external_name(by), "reason": reason, "created_at": at}
        GuardianStatus.objects.using(db).create(audit=row, status=Status.ROLLED_BACK, **status_columns)
        tell_taken_back(db, row_id, by=status_columns["given_by"])
    return 1


def _store_rollback_write(db, row, rollback_id, rollback):
    """Store the rollback as a write, since it changed the file; return its id."""
    names = ("decision_id", "turn_id", "session_id", "session_key", "match", "target_file")
    own = WriteGuardianAudit(
        id=_find_free_id([f"{rollback_id}@write"], lambda name: write_store.find_row_id(db, name)),
        **{name: getattr(row, name) for name in names},
        status=Status.WRITTEN,
        reason=rollback.reason,
        origin=Origin.ROLLBACK,
        created_at=max(rollback.at, row.created_at + 1),
    )
    change = None
    if not row.sources & Source.FILES and (row.before_snapshot or row.after_snapshot):
        with suppress(DamagedVersion):
            sides = (
                read_version_bytes(snapshot) if snapshot else None
                for snapshot in (row.after_snapshot, row.before_snapshot)
            )
            change = FileChange(*sides)
    return write_store.store_reports(
        db, [Report(own, Source.DATABASE, change, reporter=_external_name(rollback.by))]
    ).ids[own.id]


def _find_free_id(candidates, is_taken):
    """Return the first of these ids that is free.

    Else it is the last of them with the first number that makes it free.
    """
    numbered = (f"{candidates[-1]}-{number}" for number in count(2))
    return next(name for name in chain(candidates, numbered) if not is_taken(name))


def _store_corrections(db, pairs, result):
    """Store the corrections of these writes in one transaction, each once; return how many are new."""
    if not any(write.corrections for _row_id, write in pairs):
        return 0
    try:
        return _insert_corrections(
            db, [(row_id, correction) for row_id, write in pairs for correction in write.corrections]
        )
    except IntegrityError:  # one of them contradicts stored rows, so each write's are stored alone
        corrections_by_write = [[(row_id, correction) for correction in write.corrections] for row_id, write in pairs]
        return sum(
            _store_or_refuse(partial(_insert_corrections, db, corrections), write, result)
            for corrections, (_row_id, write) in zip(corrections_by_write, pairs, strict=True)
        )


def _insert_corrections(db, corrections):
    with write_queue.agent_transaction(db):
        rows = {correction.id: _build_correction(row_id, correction) for row_id, correction in reversed(corrections)}
        known = set(BehaviorCorrection.objects.using(db).filter(id__in=rows).values_list("id", flat=True))
        BehaviorCorrection.objects.using(db).bulk_create([row for id_, row in rows.items() if id_ not in known])
        return len(rows) - len(known)


def _build_correction(row_id, correction):
    """Build a correction; a rule of a plugin is off until somebody switches it on."""
    names = ("status", "candidate_fact", "target_file")
    columns = {f"original_{name}": value for name, value in zip(names, correction.original, strict=True)}
    columns |= {f"corrected_{name}": value for name, value in zip(names, correction.corrected, strict=True)}
    is_rule = correction.pattern is not None
    at = min(correction.at, now_ms())  # a correction from the future would win over later ones
    columns |= {"switched_off_at": at, "switched_off_by": IMPORT} if is_rule else {}
    return BehaviorCorrection(
        id=correction.id,
        audit_id=row_id,
        correction_reason=correction.reason,
        apply_to_future=is_rule,
        correction_pattern=correction.pattern,
        corrected_by=_external_name(correction.by),
        corrected_at=at,
        imported_from=SOURCE,
        **columns,
    )


def _external_name(name):
    return f"{SOURCE}: {name}" if name else BY
