"""What is known of a write that is to become a sample: its turn, the file on both sides; or why it cannot be one."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian import exact, services
from guardian.correcting import correcting
from guardian.correcting.sayable import audit_of, is_withheld
from guardian.models import BehaviorCorrection, Rollback, WriteGuardianAudit
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused

from . import consent
from .whole_files import LONGEST_FILE, Right, Write, find_right

STATUSES = correcting.STATUSES


@dataclass(frozen=True, slots=True)
class Seen:
    """A write with its turn, its decision, and what the file held; None: no file, or nothing was written.

    `status` is what was decided. `correction` and `rollback` are what people did about it, the correction that stands;
    `chosen` is what the file held afterwards where somebody chose that, because its lines had changed since; `right`
    what the file that the correction names should hold.
    """

    audit: WriteGuardianAudit
    turn: ConversationTurn
    decision: MemoryGateDecision | None
    status: str
    before: str | None
    after: str | None
    correction: BehaviorCorrection | None
    rollback: Rollback | None
    chosen: str | None
    right: Right


def write_of(agent: Agent, audit_id: str) -> WriteGuardianAudit:
    """A write of an agent. Raises NoSuchWrite."""
    return audit_of(agent.db, audit_id)


def seen_of(agent: Agent, audit: WriteGuardianAudit) -> Seen:
    """What a sample of the write is made of. Raises Refused where it cannot have one."""
    db, status = agent.db, correcting.original(agent.db, audit).status
    if audit.origin == WriteGuardianAudit.Origin.ROLLBACK:  # its fact is that of the write which it took back
        raise Refused(_("A rollback cannot become a sample. Judge the write that it took back."))
    if status not in STATUSES:
        is_failed = status == WriteGuardianAudit.Status.FAILED
        raise Refused(
            _("No sample can be created: the write failed.")
            if is_failed
            else _("No sample can be created: the write was skipped.")
        )
    if not audit.candidate_fact:
        raise Refused(_("No sample can be created: the fact is not known."))
    if not audit.target_file:
        raise Refused(_("No sample can be created: the file is not known."))
    turn = ConversationTurn.objects.using(db).filter(id=audit.turn_id).first() if audit.turn_id else None
    if turn is None:
        raise Refused(_("The turn of this write is not known or no longer stored, so it cannot become a sample."))
    if status == "written" and audit.after_snapshot_id is None and audit.before_snapshot_id is None:
        raise Refused(_("Nobody knows what the file held before and after this write, so it cannot become a sample."))
    _find_the_file(db, audit, status)
    rollback = Rollback.objects.using(db).filter(audit_id=audit.id).select_related("own_audit__after_snapshot").first()
    choice = rollback.own_audit if rollback and rollback.way == Rollback.Way.CHOSEN else None
    if is_withheld(db, audit) or consent.is_file_withheld(db, audit, choice):
        raise Refused(_("No sample can be created: somebody opted out."))
    before, after = _text(audit.before_snapshot), _text(audit.after_snapshot) if status == "written" else None
    correction = next(iter(correcting.of_audit(db, audit.id)), None)
    return Seen(
        audit=audit,
        turn=turn,
        decision=_decision(db, audit.decision_id),
        status=status,
        before=before,
        after=after,
        correction=correction,
        rollback=rollback,
        chosen=_text(choice.after_snapshot) if choice else None,
        right=_right(db, audit, correction, before, after),
    )


def _decision(db, decision_id):
    decisions = MemoryGateDecision.objects.using(db).defer("raw_response")
    return decisions.filter(id=decision_id).first() if decision_id else None


def _right(db, audit, correction, before, after):
    if correction is None:
        return Right()
    write = Write(audit.created_at, correcting.original(db, audit), before, after)
    return find_right(db, write, correcting.says(correction))


def _find_the_file(db, audit, status):
    """Have a write that was refused know the version that its file had then: who refuses says nothing of the file."""
    if status == "written" or audit.before_snapshot_id:
        return
    versions = services.held(db, audit.target_file).filter(created_at__lte=audit.created_at)
    audit.before_snapshot = versions.order_by("-created_at", "-id").first()
    if audit.before_snapshot is None:
        raise Refused(_("No sample can be created: nobody knows what the file held."))


def _text(version):
    """A version as a text, exactly. Raises Refused for one that is none, and NotExact for one without its bytes."""
    if version is None:
        return None
    try:
        text = exact.data_of(version).decode()
    except UnicodeDecodeError as exc:
        raise Refused(_("The file is not UTF-8 text, so this write cannot become a sample.")) from exc
    if len(text) > LONGEST_FILE or "\0" in text:
        raise Refused(
            _("A sample holds files of at most %(most)s characters, without NUL. This one cannot become a sample.")
            % {"most": f"{LONGEST_FILE:,}"}
        )
    return text
