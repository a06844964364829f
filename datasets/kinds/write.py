"""Writes to memory files as samples: the Reflection spec's WriteGuardianSample.

Ours beside the spec's fields: whether there was a file (`fileExisted`), the reason of write_guardian
(`decisionReason`), the whole file afterwards (`writtenContent`; null: nothing was written), and in `userCorrection`
the fact, the file and the content that would have been right: that of the file which the correction names, null where
nobody knows what it held. So both halves of a preference pair are there: what was
written, and what should have been. `memoryGate` is the decision behind the write, in the shape of annotated turns.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian import file_bytes, services
from guardian.corrections import correction_store
from guardian.corrections.write_consent import get_write, is_withheld
from guardian.detail import opted_out_lines
from guardian.detail.line_blame import FileBlame
from guardian.models import BehaviorCorrection, GuardianReceipt, Rollback, WriteGuardianAudit
from ledger import consent
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused

from .. import turn_facts
from ..exporters.writes import REFUSED
from ..exporters.writes import WRITE as TYPE
from ..models import DatasetSample
from ..review.parts import PartVerdict
from ..write_samples.corrected_files import LONGEST_FILE, OriginalWrite, RightFile, find_right_file
from . import sample_store
from .kind import NONE, RIGHT, WRONG, JudgedKind, Words

STATUSES = correction_store.STATUSES
KEY = "write_guardian"
READ = ("id", "sample_type", "audit_id", "annotation_status", "annotated_by", "annotated_at", "label_id",
        "guardian_label", "guardian_corrected_output")  # fmt: skip


@dataclass(frozen=True, slots=True)
class WriteSubject:
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
    right: RightFile


@dataclass(frozen=True, slots=True)
class Correction:
    """What would have been right: written or refused, and why. `content` is the whole file, where it was written."""

    status: str
    reason: str = ""
    content: str = ""


def find(agent: Agent, audit_id: str) -> WriteGuardianAudit:
    """A write of an agent. Raises NoSuchWrite."""
    return get_write(agent.db, audit_id)


def read_subject(agent: Agent, audit: WriteGuardianAudit) -> WriteSubject:
    """What a sample of the write is made of. Raises Refused where it cannot have one."""
    db, status = agent.db, correction_store.get_original_state(agent.db, audit).status
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
    if is_withheld(db, audit) or is_file_withheld(db, audit, choice):
        raise Refused(_("No sample can be created: somebody opted out."))
    before, after = _text(audit.before_snapshot), _text(audit.after_snapshot) if status == "written" else None
    correction = next(iter(correction_store.find_by_write(db, audit.id)), None)
    return WriteSubject(
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
        return RightFile()
    write = OriginalWrite(audit.created_at, correction_store.get_original_state(db, audit), before, after)
    return find_right_file(db, write, correction_store.get_corrected_state(correction))


def _find_the_file(db, audit, status):
    """Have a write that was refused know the version that its file had then: who refuses says nothing of the file."""
    if status == "written" or audit.before_snapshot_id:
        return
    versions = services.find_held_versions(db, audit.target_file).filter(created_at__lte=audit.created_at)
    audit.before_snapshot = versions.order_by("-created_at", "-id").first()
    if audit.before_snapshot is None:
        raise Refused(_("No sample can be created: nobody knows what the file held."))


def _text(version):
    """A version as a text, exactly. Raises Refused for one that is none, and NotExact for one without its bytes."""
    if version is None:
        return None
    try:
        text = file_bytes.read_version_bytes(version).decode()
    except UnicodeDecodeError as exc:
        raise Refused(_("The file is not UTF-8 text, so this write cannot become a sample.")) from exc
    if len(text) > LONGEST_FILE or "\0" in text:
        raise Refused(
            _("A sample holds files of at most %(most)s characters, without NUL. This one cannot become a sample.")
            % {"most": f"{LONGEST_FILE:,}"}
        )
    return text


def is_file_withheld(db: str, audit: WriteGuardianAudit, choice: WriteGuardianAudit | None = None) -> bool:
    """Whether a file that a sample of a write holds has a line that leads to no turn whose words may be used.

    That is the file before the write and after it, and after `choice`, the rollback in which a person chose what it
    holds. Nothing is withheld while nobody has opted out.
    """
    if not consent.read_opted_out():
        return False
    past = FileBlame(db, audit.target_file or "")
    held = (past.blame_before(audit), past.blame_after(audit), past.blame_after(choice) if choice else None)
    return opted_out_lines.has_withheld_lines(db, held)


def content(_agent: Agent, seen: WriteSubject, _is_right: bool) -> dict[str, Any]:
    """The sample of a write, with what people said of it by now."""
    body: dict[str, Any] = {
        "type": TYPE,
        "candidateFact": seen.audit.candidate_fact,
        "targetFile": seen.audit.target_file,
        "currentFileContent": seen.before or "",
        "fileExisted": seen.before is not None,
        "decision": seen.status,
        "decisionReason": seen.audit.reason or "",
        "writtenContent": seen.after,
    }
    if correction := find_correction(seen):
        body["userCorrection"] = correction
    if seen.decision:
        body["memoryGate"] = {
            "output": {
                "decision": seen.decision.decision,
                "reason": seen.decision.reason,
                "candidateFact": seen.decision.candidate_fact,
            }
        }
    return body


def find_correction(seen: WriteSubject) -> dict[str, Any] | None:
    """What people said or did about a write: the correction that stands, else its rollback; None: nothing."""
    if row := seen.correction:
        return {
            "originalDecision": seen.status,
            "correctedDecision": row.corrected_status,
            "reason": row.correction_reason,
            "correctedFact": row.corrected_candidate_fact,
            "correctedFile": row.corrected_target_file,
            "correctedContent": seen.right.content,
        }
    if seen.rollback:
        return {
            "originalDecision": seen.status,
            "correctedDecision": REFUSED,
            "reason": seen.rollback.reason,
            "correctedFact": None,
            "correctedFile": None,
            "correctedContent": seen.chosen if seen.rollback.way == seen.rollback.Way.CHOSEN else seen.before or "",
        }
    return None


def find_right_output(seen: WriteSubject) -> dict[str, str] | None:
    """The same as a verdict says it (`guardian_corrected_output`); None where people said that the write was right."""
    correction = find_correction(seen)
    if correction is None or is_right(seen):
        return None
    return {
        "status": correction["correctedDecision"],
        "targetFile": correction["correctedFile"] or seen.audit.target_file or "",
        "reason": correction["reason"],
    }


def is_right(seen: WriteSubject) -> bool:
    """Whether a correction says that the write was right as it was: against a rule, or an earlier correction."""
    row = seen.correction
    said = row and (row.corrected_status, row.corrected_candidate_fact, row.corrected_target_file)
    return said == (seen.status, seen.audit.candidate_fact, seen.audit.target_file)


def _columns(agent, seen):
    return {
        "decision_id": seen.decision.id if seen.decision else None,
        "audit_id": seen.audit.id,
        "collection_strategy": "manual_correction" if find_right_output(seen) or is_right(seen) else "manual",
        **turn_facts.read_columns(agent.db, seen.turn),
    }


def _labels(seen):
    right = find_right_output(seen)
    return {
        "guardian_label": "corrected" if right else "correct" if is_right(seen) else None,
        "guardian_corrected_output": orjson.dumps(right).decode() if right else None,
    }


def _verdict(audit, seen, said, correction):
    """With a `correction`, else with what a correction or a rollback of the write says."""
    if said == RIGHT:
        return PartVerdict("correct")
    if correction:
        _check(correction, seen)
        output = {"status": correction.status, "targetFile": audit.target_file, "reason": correction.reason}
        return PartVerdict("corrected", output | ({"content": correction.content} if correction.content else {}))
    known = find_right_output(seen)
    return PartVerdict("corrected", known) if known else PartVerdict("incorrect")


def _check(correction: Correction, seen: WriteSubject):
    """A correction says something else than what was done."""
    if correction.status not in STATUSES:
        raise Refused(_("A write should have been either written or refused."))
    if correction.content and correction.status != "written":
        raise Refused(_("What is refused leaves the file as it was: leave its content out."))
    if correction.status == seen.status and correction.content in ("", seen.after):
        raise Refused(_("This is what was done. Say what would have been right, or that it is right."))


def find_samples(agent: Agent, audit_ids: Collection[str]) -> dict[str, list[DatasetSample]]:
    """The sample of each of these writes of one agent that has one in use, by the write's id."""
    ids = find_sample_ids(agent, audit_ids)
    samples = DatasetSample.objects.filter(id__in=list(ids)).only(*READ)
    return {ids[sample.id]: [sample] for sample in samples if sample.annotation_status}


def find_sample_ids(agent: Agent, audit_ids: Collection[str]) -> dict[str, str]:
    """The ids that samples of these writes may have, each with the id of its write."""
    rows = GuardianReceipt.objects.using(agent.db).filter(audit_id__in=list(audit_ids)).exclude(id=F("audit_id"))
    earlier = rows.values_list("id", "audit_id") if audit_ids else ()
    names = [*((name, name) for name in audit_ids), *earlier]
    return {sample_store.compute_sample_id(agent.agent_id, told, KEY): name for told, name in names}


def find_sample_id(agent: Agent, audit_id: str) -> str:
    """The id of the sample of a write: of the one that is there, else of the one that would be made."""
    ids = find_sample_ids(agent, [audit_id])
    there = DatasetSample.objects.filter(id__in=list(ids)).values_list("id", flat=True).order_by("created_at").first()
    return there or sample_store.compute_sample_id(agent.agent_id, audit_id, KEY)


def _judgeable(audits):
    rollback = WriteGuardianAudit.Origin.ROLLBACK
    return {row.id for row in audits if row.turn_id is not None and row.origin != rollback}


WRITE = JudgedKind(
    name="write",
    types=(TYPE,),
    column="audit_id",
    key=KEY,
    part="guardian",
    words=Words(
        neither=gettext_lazy("A write is either right or wrong."),
        only_wrong=gettext_lazy("Only a wrong write takes a correction."),
        done={
            RIGHT: gettext_lazy("Marked as right."),
            WRONG: gettext_lazy("Marked as wrong."),
            NONE: gettext_lazy("Sample created."),
        },
    ),
    find=find,
    see=read_subject,
    body=content,
    columns=_columns,
    labels=_labels,
    verdict=_verdict,
    samples_of=lambda agent, audits: find_samples(agent, [audit.id for audit in audits]),
    find_sample_id=find_sample_id,
    rows=WriteGuardianAudit.objects.only("id", "turn_id", "origin"),
    judgeable=_judgeable,
    sees_again=True,  # what corrections and rollbacks say by now is what would be right
)
