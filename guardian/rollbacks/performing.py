"""Rolling back: the file is exchanged, and the database says so; killed in between, either is finished or undone.

An intent is stored before the file is touched. What the file held is a version first, and what somebody wrote into the
displaced file afterwards becomes one as well: nothing that an agent wrote is lost, and whoever rolled back is told.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.sqlite import writing

from .. import services
from ..changes import change_of
from ..exact import data_of
from ..models import GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from . import places, workspace
from .planning import Plan, Status, Way, hash_of, plan

LOOKS = (0.0, 1.0, 5.0)  # seconds after the exchange at which the displaced file is read again
State = RollbackIntent.State


class Changed(Refused):
    """The file is not what it was in the preview, or what it holds has to be chosen by a person."""

    status = 409


@dataclass(slots=True)
class Result:
    """What was done. `restored_to` is when the version was made that is back; None: no file, or merged lines.

    `meanwhile` are versions that somebody wrote while the file was exchanged: kept, and not in the file.
    """

    rollback_id: str
    success: bool = True
    restored_to: int | None = None
    meanwhile: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Take:
    """A write that is taken back as a whole. `restored_id`: the version that comes back with it, where one does."""

    audit_id: str
    rollback_id: str
    way: str
    restored_id: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants a rollback, why, and what is taken back; `own_id` is the rollback's own id as a write."""

    by: str
    reason: str
    at: int
    own_id: str
    takes: tuple[Take, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Asked":
        """As an intent holds it."""
        told = orjson.loads(text)
        return cls(**told | {"takes": tuple(Take(**take) for take in told["takes"])})


def perform(
    agent: Agent,
    audit_id: str,
    *,
    by: str,
    reason: str,
    seen: str,
    hunk: int | None = None,
    chosen: bytes | None = None,
) -> Result:
    """Roll back a write. `seen` is `Plan.now_hash` of the preview; `chosen` is the content where there are conflicts.

    Raises as `planning.plan`, and Changed when the file is another one by now, or a conflict needs a person.
    """
    places.check()
    if not reason.strip():
        raise Refused(_("Say why this write is rolled back."))
    with locks.lock(f"rollback-{agent.agent_id}.lock"):
        made = plan(agent, audit_id, hunk=hunk)
        if made.now_hash != seen:
            raise Changed(_("%(file)s has changed since the preview. Look at the new preview.") % {"file": made.name})
        if made.conflicts and chosen is None:
            raise Changed(_("Somebody changed the same lines since. Choose what the file should hold."))
        return _carried_out(agent, made, by, reason, chosen)


def _carried_out(agent, made: Plan, by, reason, chosen):
    wanted = made.wanted if chosen is None else chosen
    take = Take(
        audit_id=made.audit.id,
        rollback_id=str(ULID()),
        way=made.way if chosen is None else Way.CHOSEN,
        restored_id=made.restored.id if made.restored and chosen is None else None,
    )
    # One hunk alone leaves the rest of a write in the file: that is a write of its own, and no rollback of this one.
    takes = (take,) if made.hunk is None else ()
    asked = Asked(by, reason, clock.now_ms(), str(ULID()), takes)
    with workspace.opened(places.workspace_of(agent)) as folder:
        intent = _intend(agent.db, made, wanted, asked)
        try:
            held = _exchange(folder, intent, wanted, made)
        except Refused:
            folder.remove(intent.draft_name)
            _end(agent.db, intent, State.UNDONE)
            raise
        try:
            finish(agent.db, intent)
            meanwhile = _watch(agent.db, folder, intent, held, made.now)
        finally:
            if held:
                held.close()
    restored = made.restored.created_at if take.restored_id and made.restored else None
    return Result(take.rollback_id if takes else asked.own_id, restored_to=restored, meanwhile=meanwhile)


def _intend(db, made: Plan, wanted, asked: Asked):
    """Both contents as versions, and what is about to happen, before it does."""
    with writing.in_turn_of(db):
        if made.now is not None:
            services.snapshot(db, made.name, made.now, moment=asked.at - 1)
        after = None if wanted is None else services.snapshot(db, made.name, wanted, moment=asked.at)
        return RollbackIntent.objects.using(db).create(
            id=str(ULID()),
            file_name=made.name,
            audits_json=orjson.dumps([made.audit.id]).decode(),
            before_hash=made.now_hash or None,
            after_snapshot=after,
            draft_name=f".{made.name}.{asked.own_id}.rollback",
            told_json=orjson.dumps(asdict(asked)).decode(),
            created_at=asked.at,
        )


def _exchange(folder, intent, wanted, made: Plan):
    """Do it; what the file held, opened, or None where there was none. Raises Changed for another file by now."""
    held = folder.held(made.name)
    try:
        if hash_of(held.data if held else None) != made.now_hash:
            raise Changed(_("%(file)s has changed since the preview. Look at the new preview.") % {"file": made.name})
        if wanted is None:
            if held:
                folder.move_aside(made.name, intent.draft_name)
            return held
        folder.write_draft(intent.draft_name, wanted, held)
        if held is None:
            if not folder.create(intent.draft_name, made.name):
                raise Changed(_("%(file)s was created in the meantime. Look at the new preview.") % {"file": made.name})
            return None
        folder.exchange(intent.draft_name, made.name)
        return held
    except BaseException:
        if held:
            held.close()
        raise


def finish(db: str, intent: RollbackIntent) -> None:
    """Say in the database what became of the file: done once, however often it is asked for."""
    asked = Asked.of(intent.told_json)
    own = _own_write(db, intent, asked)
    with writing.in_turn_of(db):
        if WriteGuardianAudit.objects.using(db).filter(id=own.id).exists():
            return
        own.save(using=db, force_insert=True)
        _say(db, own.id, Status.WRITTEN, asked)
        for take in asked.takes:
            _take_back(db, take, own, asked)
        RollbackIntent.objects.using(db).filter(id=intent.id).update(state=State.EXCHANGED)


def _take_back(db, take: Take, own, asked: Asked):
    audits = WriteGuardianAudit.objects.using(db).filter(id=take.audit_id)
    Rollback.objects.using(db).create(
        id=take.rollback_id,
        audit_id=take.audit_id,
        rolled_back_at=asked.at,
        rolled_back_by=asked.by,
        reason=asked.reason,
        restored_snapshot_id=take.restored_id,
        previous_status=audits.get().status,
        own_audit=own,
        way=take.way,
    )
    audits.update(status=Status.ROLLED_BACK)
    _say(db, take.audit_id, Status.ROLLED_BACK, asked)


def _own_write(db, intent, asked: Asked):
    """The rollback as a write, not stored yet: what it changed, and so what undoes it again."""
    versions = services.versions(db, intent.file_name)
    before = versions.filter(content_hash=intent.before_hash or "").order_by("-created_at", "-id").first()
    after = intent.after_snapshot
    change = change_of(data_of(before) if before else None, data_of(after) if after else None, intent.file_name)
    last = WriteGuardianAudit.objects.using(db).filter(id__in=orjson.loads(intent.audits_json)).latest("created_at")
    return WriteGuardianAudit(
        id=asked.own_id,
        decision_id=last.decision_id,
        turn_id=last.turn_id,
        session_id=last.session_id,
        session_key=last.session_key,
        target_file=intent.file_name,
        candidate_fact=last.candidate_fact,
        before_snapshot=before,
        after_snapshot=after,
        diff=change.diff,
        lines_added=change.added,
        lines_removed=change.removed,
        lines_modified=change.modified,
        hunks_json=change.hunks_json,
        status=Status.WRITTEN,
        reason=asked.reason,
        origin=WriteGuardianAudit.Origin.ROLLBACK,
        sources=WriteGuardianAudit.Source.OWN,
        created_at=asked.at,
    )


def _say(db, audit_id, status, asked: Asked):
    GuardianStatus.objects.using(db).create(
        audit_id=audit_id, status=status, given_by=asked.by, reason=asked.reason, created_at=asked.at
    )


def _watch(db, folder, intent, held, was: bytes | None) -> list[str]:
    """Read the displaced file again and again: what somebody wrote into it is a version, and nothing of it is lost.

    Another file under its name was put there between the last look and the exchange.
    """
    displaced = folder.displaced(intent.draft_name)
    found: list[str] = []
    try:
        known = {was}
        began = time.monotonic()
        for seconds in LOOKS if held or displaced else ():
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            for one in filter(None, (held, displaced)):
                if (data := one.now()) not in known and len(data) <= workspace.MOST_BYTES:
                    known.add(data)
                    found.append(services.snapshot(db, intent.file_name, data, moment=clock.now_ms()).id)
    finally:
        if displaced:
            displaced.close()
    folder.remove(intent.draft_name)
    _end(db, intent, State.DONE)
    return found


def _end(db, intent, state):
    RollbackIntent.objects.using(db).filter(id=intent.id).update(state=state, ended_at=clock.now_ms())


def recover(agent: Agent) -> Sequence[dict[str, Any]]:
    """Finish or undo what was under way when a process died; what was done, by file."""
    intents = RollbackIntent.objects.using(agent.db).filter(ended_at=None).select_related("after_snapshot")
    with locks.lock(f"rollback-{agent.agent_id}.lock"):
        return [_recovered(agent, intent) for intent in intents.order_by("created_at")]


def _recovered(agent, intent):
    with workspace.opened(places.workspace_of(agent)) as folder:
        draft = folder.displaced(intent.draft_name)
        now = folder.held(intent.file_name)
        after = intent.after_snapshot.content_hash if intent.after_snapshot else ""
        try:
            if _is_in_place(intent, draft, now, after):
                finish(agent.db, intent)
                meanwhile = _watch(agent.db, folder, intent, None, data_before(agent.db, intent))
                return {"file": intent.file_name, "state": State.DONE.value, "meanwhile": meanwhile}
            folder.remove(intent.draft_name)
            _end(agent.db, intent, State.UNDONE)
            return {"file": intent.file_name, "state": State.UNDONE.value, "meanwhile": []}
        finally:
            for one in filter(None, (draft, now)):
                one.close()


def _is_in_place(intent, draft, now, after):
    """Whether the file was exchanged before the process died."""
    if intent.state == State.EXCHANGED:
        return True
    if intent.after_snapshot is None:  # moved aside
        return draft is not None
    if draft is None:  # not written yet, or linked and gone
        return intent.before_hash is None and now is not None and now.sha256 == after
    # What the file held is in the draft only after the exchange, whatever somebody wrote to the file since.
    return draft.sha256 == intent.before_hash or (draft.sha256 != after and now is not None and now.sha256 == after)


def data_before(db: str, intent: RollbackIntent) -> bytes | None:
    """What the file held when the intent was stored; None: there was none."""
    if intent.before_hash is None:
        return None
    row = services.versions(db, intent.file_name).filter(content_hash=intent.before_hash).first()
    return data_of(row) if row else None
