"""What the database says of a rollback: its intents before files are touched, and what became of them afterwards."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db.models import ProtectedError
from ulid import ULID

from openclaw_web import clock
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode

from .. import services
from ..changes import compute_change
from ..file_bytes import read_version_bytes
from ..models import GuardianRun, GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from ..recording import write_replacement
from .rollback_plan import Status
from .steps import IntentDetails, OwnWrite, Reversal, Step

State, Origin = RollbackIntent.State, WriteGuardianAudit.Origin


def store_intents(db: str, place: Path, steps: Sequence[Step], by: str, reason: str) -> list[RollbackIntent]:
    """Both contents of each file as versions, and what is about to happen, before anything does."""
    moment, group_id = clock.now_ms(), str(ULID())
    with write_queue.agent_transaction(db):
        return [_intent(db, step, _asked(step, str(place), by, reason, moment), group_id) for step in steps]


def _asked(step, place, by, reason, moment):
    about = {"takes": step.takes, "own": step.own, "is_put": step.is_put}
    return IntentDetails(by, reason, moment, step.own_id, place, **about)


def _intent(db, step: Step, asked: IntentDetails, group_id):
    if step.now is not None:
        services.get_or_add_snapshot(db, step.name, step.now, moment=asked.at - 1)
    after = None if step.wanted is None else services.get_or_add_snapshot(db, step.name, step.wanted, moment=asked.at)
    return RollbackIntent.objects.using(db).create(
        id=str(ULID()),
        group_id=group_id,
        file_name=step.name,
        audits=step.audit_ids or (asked.own_id,),  # of our guardian: what it will be
        before_hash=step.now_hash or None,
        after_snapshot=after,
        draft_name=f".{step.name}.{ULID()}.rollback",  # an agent sees it: no id of ours
        told=asdict(asked),
        created_at=asked.at,
    )


def finish_intents(db: str, intents: Sequence[RollbackIntent]) -> None:
    """Say in the database what became of the files: of all or of none, and done once, however often it is asked for."""
    told = [(intent, IntentDetails.from_json(intent.told)) for intent in intents]
    own = [_own_write(db, intent, asked) for intent, asked in told]
    with write_queue.agent_transaction(db):
        for (intent, asked), write in zip(told, own, strict=True):
            if WriteGuardianAudit.objects.using(db).filter(id=write.id).exists():
                continue
            write.save(using=db, force_insert=True)
            _say(db, write.id, Status.WRITTEN, asked)
            finish_write(db, write, asked, intent.group_id)
            RollbackIntent.objects.using(db).filter(id=intent.id).update(state=State.EXCHANGED)
    services.refresh_sums(db)


def finish_write(db: str, write: WriteGuardianAudit, asked: IntentDetails, group_id: str | None) -> None:
    """Store what follows from a write: those that it takes back are rolled back, and a proposal is written."""
    for take in asked.takes:
        _take_back(db, take, write, asked, group_id)
    if asked.own:
        _end_run(db, asked.own, write, asked)


def _take_back(db, take: Reversal, own, asked: IntentDetails, group_id):
    audits = WriteGuardianAudit.objects.using(db).filter(id=write_replacement.find_current_id(db, take.audit_id))
    audit = audits.first()
    if audit is None:  # the rollback is a write all the same, and has its versions
        return
    Rollback.objects.using(db).create(
        id=take.rollback_id,
        audit=audit,
        rolled_back_at=asked.at,
        rolled_back_by=asked.by,
        reason=asked.reason,
        restored_snapshot_id=take.restored_id,
        previous_status=audit.status,
        own_audit=own,
        way=take.way,
        effect=take.effect,
        group_id=group_id,
    )
    audits.update(status=Status.ROLLED_BACK)
    _say(db, audit.id, Status.ROLLED_BACK, asked)


def _end_run(db, own: OwnWrite, write, asked: IntentDetails):
    """Say in the run of our guardian what it became; its contents are versions now."""
    GuardianRun.objects.using(db).filter(id=own.run_id).update(
        state=GuardianRun.State.WRITTEN,
        audit_id=write.id,
        decided_by=asked.by,
        decided_at=asked.at,
        before_zstd=None,
        after_zstd=None,
    )


def _own_write(db, intent, asked: IntentDetails):
    """The rollback, or the write of our guardian, as a write, not stored yet: what it changed, and what undoes it."""
    versions = services.find_versions(db, intent.file_name)
    before = versions.filter(content_hash=intent.before_hash or "").order_by("-created_at", "-id").first()
    after = intent.after_snapshot
    change = compute_change(
        read_version_bytes(before) if before else None, read_version_bytes(after) if after else None, intent.file_name
    )
    return WriteGuardianAudit(
        id=asked.own_id,
        target_file=intent.file_name,
        before_snapshot=before,
        after_snapshot=after,
        diff=change.diff,
        lines_added=change.added,
        lines_removed=change.removed,
        lines_modified=change.modified,
        hunks=change.hunks,
        status=Status.WRITTEN,
        reason=asked.reason or None,
        sources=WriteGuardianAudit.Source.OWN,
        created_at=asked.at,
        **build_provenance_columns(db, intent.audits, asked),
    )


def build_provenance_columns(db: str, audit_ids: Sequence[str], asked: IntentDetails) -> dict[str, Any]:
    """What is behind such a write: the fact that our guardian was given, or the last write that is rolled back.

    Of what an agent wrote meanwhile, and a person put into the file, nothing is known.
    """
    if asked.own:
        match = "given" if asked.own.columns.get("turn_id") else "none"
        return {"match": match} | asked.own.columns | {"origin": Origin.OWN}
    return {"origin": Origin.ROLLBACK} if asked.is_put else _of_last(db, audit_ids)


def _of_last(db, audit_ids):
    """The columns that a rollback has of the last write that it is about."""
    ids = [write_replacement.find_current_id(db, name) for name in audit_ids]
    last = WriteGuardianAudit.objects.using(db).filter(id__in=ids).order_by("-created_at").first()
    names = ("decision_id", "turn_id", "session_id", "session_key", "candidate_fact")
    behind = {name: getattr(last, name, None) for name in names}
    return behind | {"match": last.match if last else "none", "origin": Origin.ROLLBACK}


def _say(db, audit_id, status, asked: IntentDetails):
    GuardianStatus.objects.using(db).create(
        audit_id=audit_id, status=status, given_by=asked.by, reason=asked.reason, created_at=asked.at
    )


def note_concurrent_edits(db: str, intent: RollbackIntent, meanwhile: Sequence[str]) -> None:
    """Versions that somebody wrote meanwhile, while it is not over yet."""
    RollbackIntent.objects.using(db).filter(id=intent.id).update(meanwhile_json=encode(list(meanwhile)))


def end_intent(db: str, intent: RollbackIntent, state: str, meanwhile: Sequence[str] = ()) -> None:
    """An intent of which nothing is left to do. `meanwhile`: versions that somebody wrote while it was carried out."""
    about = {"state": state, "ended_at": clock.now_ms(), "meanwhile_json": encode(list(meanwhile))}
    with write_queue.agent_transaction(db):
        RollbackIntent.objects.using(db).filter(id=intent.id).update(**about)
        if state == State.UNDONE:
            _forget_prepared(db, intent)


def _forget_prepared(db, intent):
    """Remove a version that was prepared and never written: the newest version of a file is what it holds."""
    RollbackIntent.objects.using(db).filter(id=intent.id).update(after_snapshot=None)
    prepared = services.find_versions(db, intent.file_name).filter(id=intent.after_snapshot_id)
    with suppress(ProtectedError):  # somebody told of a write to this very content
        prepared.filter(created_at=intent.created_at).delete()


def read_content_before(db: str, intent: RollbackIntent) -> bytes | None:
    """What the file held when the intent was stored; None: there was none."""
    if intent.before_hash is None:
        return None
    row = services.find_versions(db, intent.file_name).filter(content_hash=intent.before_hash).first()
    return read_version_bytes(row) if row else None
