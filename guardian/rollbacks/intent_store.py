"""Stores rollback intents before files are touched, and their outcomes afterwards."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import ProtectedError
from ulid import ULID

from openclaw_web import clock
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode

from .. import services
from ..changes import compute_change
from ..models import GuardianRun, GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from ..recording import reports
from ..services import read_version_bytes
from .rollback_plan import Status, hash_content

NOBODY = {"by": "", "reason": "", "at": 0, "own_id": "", "place": ""}


@dataclass(frozen=True, slots=True)
class Reversal:
    """A write that is taken back as a whole.

    `restored_id` is the version that comes back with it, where one does. `effect` is what was accepted to happen to the
    file's place in the prompt; empty: nothing happens to it.
    """

    audit_id: str
    rollback_id: str
    way: str
    restored_id: str | None = None
    effect: str = ""


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """A write of the built-in guardian: its run, and the columns from that run."""

    run_id: str
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentDetails:
    """Details of an intent: its author, its reason and the writes it takes back.

    `own_id` is the rollback's own id as a write, `place` the workspace. With `own` it is no rollback but a write of the
    built-in guardian; with `is_put` what an agent wrote is put into the file.
    """

    by: str
    reason: str
    at: int
    own_id: str
    place: str
    takes: tuple[Reversal, ...] = ()
    own: OwnWrite | None = None
    is_put: bool = False

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "IntentDetails":
        """Read the details that an intent stores as JSON.

        Where that is no JSON the details have no place, so that nobody can open one.
        """
        own, takes = stored.get("own"), tuple(Reversal(**take) for take in stored.get("takes", ()))
        return cls(**NOBODY | stored | {"takes": takes, "own": OwnWrite(**own) if own else None})


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a rollback, and the writes that it takes back.

    `now` and `new_content` are what the file holds and will hold (None: no file). `audit_ids` are the writes that it is
    about; a write of which only a hunk is taken out has no `Reversal`.
    """

    name: str
    now: bytes | None
    new_content: bytes | None
    audit_ids: tuple[str, ...]
    takes: tuple[Reversal, ...]
    own: OwnWrite | None = None
    is_put: bool = False
    own_id: str = field(default_factory=lambda: str(ULID()))  # its id as a write

    @property
    def now_hash(self) -> str:
        """The hash of what it holds; empty: no file."""
        return hash_content(self.now)


State, Origin = RollbackIntent.State, WriteGuardianAudit.Origin


def store_intents(db: str, place: Path, steps: Sequence[Step], by: str, reason: str) -> list[RollbackIntent]:
    """Store intents, with both contents of each file, before anything is done."""
    moment, group_id = clock.now_ms(), str(ULID())
    with write_queue.agent_transaction(db):
        return [
            _store_intent(db, step, _build_details(step, str(place), by, reason, moment), group_id) for step in steps
        ]


def _build_details(step, place, by, reason, moment):
    options = {"takes": step.takes, "own": step.own, "is_put": step.is_put}
    return IntentDetails(by, reason, moment, step.own_id, place, **options)


def _store_intent(db, step: Step, details: IntentDetails, group_id):
    if step.now is not None:
        services.get_or_add_snapshot(db, step.name, step.now, moment=details.at - 1)
    after = (
        None
        if step.new_content is None
        else services.get_or_add_snapshot(db, step.name, step.new_content, moment=details.at)
    )
    return RollbackIntent.objects.using(db).create(
        id=str(ULID()),
        group_id=group_id,
        file_name=step.name,
        audits=step.audit_ids or (details.own_id,),  # of the built-in guardian: the write to be stored
        before_hash=step.now_hash or None,
        after_snapshot=after,
        draft_name=f".{step.name}.{ULID()}.rollback",  # an agent sees it: no id of ours
        told=asdict(details),
        created_at=details.at,
    )


def finish_intents(db: str, intents: Sequence[RollbackIntent]) -> None:
    """Store that the files of these intents were exchanged: of all, or of none.

    It is done once, however often it is called.
    """
    pairs = [(intent, IntentDetails.from_json(intent.told)) for intent in intents]
    own_writes = [_build_own_write(db, intent, details) for intent, details in pairs]
    with write_queue.agent_transaction(db):
        for (intent, details), write in zip(pairs, own_writes, strict=True):
            if WriteGuardianAudit.objects.using(db).filter(id=write.id).exists():
                continue
            write.save(using=db, force_insert=True)
            _store_status(db, write.id, Status.WRITTEN, details)
            finish_write(db, write, details, intent.group_id)
            RollbackIntent.objects.using(db).filter(id=intent.id).update(state=State.EXCHANGED)
    services.refresh_sums(db)


def finish_write(db: str, write: WriteGuardianAudit, details: IntentDetails, group_id: str | None) -> None:
    """Store the effects of a write: reversed writes are rolled back, a proposal is written."""
    for take in details.takes:
        _take_back(db, take, write, details, group_id)
    if details.own:
        GuardianRun.objects.using(db).filter(id=details.own.run_id).update(
            state=GuardianRun.State.WRITTEN,
            audit_id=write.id,
            decided_by=details.by,
            decided_at=details.at,
            before_zstd=None,
            after_zstd=None,
        )


def _take_back(db, take: Reversal, own, details: IntentDetails, group_id):
    audits = WriteGuardianAudit.objects.using(db).filter(id=reports.find_current_id(db, take.audit_id))
    audit = audits.first()
    if audit is None:  # the rollback is a write all the same, and has its versions
        return
    Rollback.objects.using(db).create(
        id=take.rollback_id,
        audit=audit,
        rolled_back_at=details.at,
        rolled_back_by=details.by,
        reason=details.reason,
        restored_snapshot_id=take.restored_id,
        previous_status=audit.status,
        own_audit=own,
        way=take.way,
        effect=take.effect,
        group_id=group_id,
    )
    audits.update(status=Status.ROLLED_BACK)
    _store_status(db, audit.id, Status.ROLLED_BACK, details)
    services.tell_taken_back(db, audit.id, by=details.by)


def _build_own_write(db, intent, details: IntentDetails):
    """Build the write of a rollback or of the built-in guardian; not stored yet.

    It has the change, and the versions that undo it.
    """
    versions = services.find_versions(db, intent.file_name)
    before = versions.filter(content_hash=intent.before_hash or "").order_by("-created_at", "-id").first()
    after = intent.after_snapshot
    change = compute_change(
        read_version_bytes(before) if before else None, read_version_bytes(after) if after else None, intent.file_name
    )
    return WriteGuardianAudit(
        id=details.own_id,
        target_file=intent.file_name,
        before_snapshot=before,
        after_snapshot=after,
        diff=change.diff,
        lines_added=change.added,
        lines_removed=change.removed,
        lines_modified=change.modified,
        hunks=change.hunks,
        status=Status.WRITTEN,
        reason=details.reason or None,
        sources=WriteGuardianAudit.Source.OWN,
        created_at=details.at,
        **build_provenance_columns(db, intent.audits, details),
    )


def build_provenance_columns(db: str, audit_ids: Sequence[str], details: IntentDetails) -> dict[str, Any]:
    """Return the columns of such a write that say where it comes from.

    They are those of the fact that the built-in guardian was given, or of the last write that is rolled back. When a
    person puts into the file what an agent wrote meanwhile, nothing is known.
    """
    if details.own:
        match = "given" if details.own.columns.get("turn_id") else "none"
        return {"match": match} | details.own.columns | {"origin": Origin.OWN}
    return {"origin": Origin.ROLLBACK} if details.is_put else _read_last_columns(db, audit_ids)


def _read_last_columns(db, audit_ids):
    """Return the columns that a rollback takes from the last write it is about."""
    ids = [reports.find_current_id(db, name) for name in audit_ids]
    last = WriteGuardianAudit.objects.using(db).filter(id__in=ids).order_by("-created_at").first()
    names = ("decision_id", "turn_id", "session_id", "session_key", "candidate_fact")
    columns = {name: getattr(last, name, None) for name in names}
    return columns | {"match": last.match if last else "none", "origin": Origin.ROLLBACK}


def _store_status(db, audit_id, status, details: IntentDetails):
    GuardianStatus.objects.using(db).create(
        audit_id=audit_id, status=status, given_by=details.by, reason=details.reason, created_at=details.at
    )


def note_concurrent_edits(db: str, intent: RollbackIntent, meanwhile: Sequence[str]) -> None:
    """Store versions that somebody wrote meanwhile, while an intent is not ended."""
    RollbackIntent.objects.using(db).filter(id=intent.id).update(meanwhile_json=encode(list(meanwhile)))


def end_intent(db: str, intent: RollbackIntent, state: str, meanwhile: Sequence[str] = ()) -> None:
    """End an intent of which nothing is left to do.

    `meanwhile` are ids of versions that somebody wrote while it was carried out.
    """
    columns = {"state": state, "ended_at": clock.now_ms(), "meanwhile_json": encode(list(meanwhile))}
    with write_queue.agent_transaction(db):
        RollbackIntent.objects.using(db).filter(id=intent.id).update(**columns)
        if state == State.UNDONE:
            # A version that was never written goes: the newest version of a file is to be what the file holds.
            RollbackIntent.objects.using(db).filter(id=intent.id).update(after_snapshot=None)
            prepared = services.find_versions(db, intent.file_name).filter(id=intent.after_snapshot_id)
            with suppress(ProtectedError):  # a reported write refers to this content
                prepared.filter(created_at=intent.created_at).delete()


def read_content_before(db: str, intent: RollbackIntent) -> bytes | None:
    """Return what the file held when the intent was stored; None: there was none."""
    if intent.before_hash is None:
        return None
    row = services.find_versions(db, intent.file_name).filter(content_hash=intent.before_hash).first()
    return read_version_bytes(row) if row else None
