"""Writes to memory files as samples: the Reflection spec's WriteGuardianSample.

Beside the spec's fields it has whether there was a file (`fileExisted`), the reason of write_guardian
(`decisionReason`), the whole file afterwards (`writtenContent`; null: nothing was written), and in `userCorrection` the
right fact, file and content: the content is that of the file which the correction names, null where nobody knows what
it held. So both halves of a preference pair are there: the written content and the right one. `memoryGate` is the
decision behind the write, in the shape of annotated turns.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import orjson
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian import services
from guardian.corrections import correction_store
from guardian.corrections.rules import get_write, is_withheld
from guardian.detail import opted_out_lines
from guardian.detail.line_blame import FileBlame
from guardian.files import LONGEST_FACT
from guardian.models import BehaviorCorrection, GuardianReceipt, Rollback, WriteGuardianAudit
from ledger import consent
from ledger.models import ConversationTurn
from openclaw_web.diffs import line_diff
from openclaw_web.errors import Refused

from .. import turn_facts
from ..models import DatasetSample
from ..review.parts import PartVerdict
from ..sample_texts import REFUSED
from ..sample_texts import WRITE as TYPE
from ..write_samples.corrected_files import LONGEST_FILE, OriginalWrite, RightFile, find_right_file
from . import sample_store
from .kind import NONE, RIGHT, WRONG, JudgedKind, Words

STATUSES = correction_store.STATUSES
KEY = "write_guardian"
READ = ("id", "sample_type", "audit_id", "annotation_status", "annotated_by", "annotated_at", "label_id",
        "guardian_label", "guardian_corrected_output")  # fmt: skip


@dataclass(frozen=True, slots=True)
class WriteSubject:
    """A write with its turn and decision, where they are known, and its file's content before and after.

    `fact` is the reported one, else the lines that the write added. Content is None where there was no file, or nothing
    was written. `status` is the status that was decided. `correction` is the correction in force, `rollback` the
    rollback of the write. `chosen` is the file's content afterwards where a person chose it, because its lines had
    changed since; `right` is the right content of the file that the correction names.
    """

    audit: WriteGuardianAudit
    fact: str
    turn: ConversationTurn | None
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
    """The right status of a write and why; `content` is the whole file, where written."""

    status: str
    reason: str = ""
    content: str = ""


def find(agent: Agent, audit_id: str) -> WriteGuardianAudit:
    """A write of an agent. Raises NoSuchWrite."""
    return get_write(agent.db, audit_id)


def find_right_ids(agent: Agent) -> list[str]:
    """Ids of the writes of an agent that people judged right."""
    rows = DatasetSample.objects.filter(agent_id=agent.agent_id, guardian_label="correct", label_id__isnull=False)
    return list(rows.filter(audit_id__isnull=False).values_list("audit_id", flat=True))


def read_subject(agent: Agent, audit: WriteGuardianAudit) -> WriteSubject:
    """The subject of a write's sample. Raises Refused where it cannot have one."""
    db, status = agent.db, correction_store.get_original_state(agent.db, audit).status
    if audit.origin == WriteGuardianAudit.Origin.ROLLBACK:  # its fact is that of the write that it rolled back
        raise Refused(_("A rollback cannot become a sample. Judge the write that it took back."))
    if status not in STATUSES:
        is_failed = status == WriteGuardianAudit.Status.FAILED
        raise Refused(
            _("No sample can be created: the write failed.")
            if is_failed
            else _("No sample can be created: the write was skipped.")
        )
    if not audit.target_file:
        raise Refused(_("No sample can be created: the file is not known."))
    turn = ConversationTurn.objects.using(db).filter(id=audit.turn_id).first() if audit.turn_id else None
    if status == "written" and audit.after_snapshot_id is None and audit.before_snapshot_id is None:
        raise Refused(_("Nobody knows what the file held before and after this write, so it cannot become a sample."))
    _set_before_version(db, audit, status)
    rollback = Rollback.objects.using(db).filter(audit_id=audit.id).select_related("own_audit__after_snapshot").first()
    choice = rollback.own_audit if rollback and rollback.way == Rollback.Way.CHOSEN else None
    if is_withheld(db, audit) or is_file_withheld(db, audit, choice):
        raise Refused(_("No sample can be created: somebody opted out."))
    before, after = _read_text(audit.before_snapshot), _read_text(audit.after_snapshot) if status == "written" else None
    correction = next(iter(correction_store.find_by_write(db, audit.id)), None)
    fact = audit.candidate_fact or _find_added_lines(audit, before, after)
    return WriteSubject(
        audit=audit,
        fact=fact,
        turn=turn,
        decision=_find_decision(db, audit.decision_id),
        status=status,
        before=before,
        after=after,
        correction=correction,
        rollback=rollback,
        chosen=_read_text(choice.after_snapshot) if choice else None,
        right=_find_right_file(db, audit, fact, correction, before, after),
    )


def _find_added_lines(audit, before, after):
    """The lines that a write without a reported fact added, as its fact."""
    diff = line_diff.compare(before, before if after is None or audit.is_diff_shared else after)
    changed = (diff.new_lines[block.new_start : block.new_end] for block in diff.blocks if not block.is_same)
    fact = "".join(line for lines in changed for line in lines).strip()
    if not fact or len(fact) > LONGEST_FACT:
        raise Refused(
            _("No sample can be created: no fact was reported, and the write added no lines that could be one.")
        )
    return fact


def _find_decision(db, decision_id):
    decisions = MemoryGateDecision.objects.using(db).defer("raw_response")
    return decisions.filter(id=decision_id).first() if decision_id else None


def _find_right_file(db, audit, fact, correction, before, after):
    if correction is None:
        return RightFile()
    state = replace(correction_store.get_original_state(db, audit), fact=fact)
    write = OriginalWrite(audit.created_at, state, before, after)
    return find_right_file(db, write, correction_store.get_corrected_state(correction))


def _set_before_version(db, audit, status):
    """Set the version that the file of a refused write had then, which no source reports."""
    if status == "written" or audit.before_snapshot_id:
        return
    audit.before_snapshot = services.find_version_at(db, audit.target_file, audit.created_at)
    if audit.before_snapshot is None:
        raise Refused(_("No sample can be created: nobody knows what the file held."))


def _read_text(version):
    """The exact text of a version. Raises Refused if it is no text, DamagedVersion without bytes."""
    if version is None:
        return None
    try:
        text = services.read_version_bytes(version).decode()
    except UnicodeDecodeError as exc:
        raise Refused(_("The file is not UTF-8 text, so this write cannot become a sample.")) from exc
    if len(text) > LONGEST_FILE or "\0" in text:
        raise Refused(
            _("A sample holds files of at most %(most)s characters, without NUL. This one cannot become a sample.")
            % {"most": f"{LONGEST_FILE:,}"}
        )
    return text


def is_file_withheld(db: str, audit: WriteGuardianAudit, choice: WriteGuardianAudit | None = None) -> bool:
    """Whether a file in a write's sample has a line of no usable turn.

    A turn is usable when its words may be used. The files are the file before the write and after it, and after
    `choice`, the rollback in which a person chose its content. While nobody has opted out, no file is withheld.
    """
    if not consent.read_opted_out():
        return False
    past = FileBlame(db, audit.target_file or "")
    held = (past.blame_before(audit), past.blame_after(audit), past.blame_after(choice) if choice else None)
    return opted_out_lines.has_withheld_lines(db, held)


def content(_agent: Agent, subject: WriteSubject, _is_right: bool) -> dict[str, Any]:
    """The content of a write's sample, with its correction so far."""
    body: dict[str, Any] = {
        "type": TYPE,
        "candidateFact": subject.fact,
        "targetFile": subject.audit.target_file,
        "currentFileContent": subject.before or "",
        "fileExisted": subject.before is not None,
        "decision": subject.status,
        "decisionReason": subject.audit.reason or "",
        "writtenContent": subject.after,
    }
    if correction := find_correction(subject):
        body["userCorrection"] = correction
    if subject.decision:
        body["memoryGate"] = {
            "output": {
                "decision": subject.decision.decision,
                "reason": subject.decision.reason,
                "candidateFact": subject.decision.candidate_fact,
            }
        }
    return body


def find_correction(subject: WriteSubject) -> dict[str, Any] | None:
    """The correction in force of a write, else its rollback; None: neither."""
    if row := subject.correction:
        return {
            "originalDecision": subject.status,
            "correctedDecision": row.corrected_status,
            "reason": row.correction_reason,
            "correctedFact": row.corrected_candidate_fact,
            "correctedFile": row.corrected_target_file,
            "correctedContent": subject.right.content,
        }
    if subject.rollback:
        return {
            "originalDecision": subject.status,
            "correctedDecision": REFUSED,
            "reason": subject.rollback.reason,
            "correctedFact": None,
            "correctedFile": None,
            "correctedContent": subject.chosen
            if subject.rollback.way == subject.rollback.Way.CHOSEN
            else subject.before or "",
        }
    return None


def find_right_output(subject: WriteSubject) -> dict[str, str] | None:
    """The correction as verdicts store it (`guardian_corrected_output`); None where the write was right.

    None also where there is no correction and no rollback.
    """
    correction = find_correction(subject)
    if correction is None or is_right(subject):
        return None
    return {
        "status": correction["correctedDecision"],
        "targetFile": correction["correctedFile"] or subject.audit.target_file or "",
        "reason": correction["reason"],
    }


def is_right(subject: WriteSubject) -> bool:
    """Whether a correction says that the write was right as it was.

    It contradicts a rule, or an earlier correction.
    """
    row = subject.correction
    corrected_fields = row and (row.corrected_status, row.corrected_candidate_fact, row.corrected_target_file)
    return corrected_fields == (subject.status, subject.fact, subject.audit.target_file)


def _build_columns(agent, subject):
    turn = subject.turn
    return {
        "session_id": turn.session_id if turn else subject.audit.session_id or "",
        "decision_id": subject.decision.id if subject.decision else None,
        "audit_id": subject.audit.id,
        "collection_strategy": "manual_correction" if find_right_output(subject) or is_right(subject) else "manual",
        **(turn_facts.read_columns(agent.db, turn) if turn else turn_facts.build_columns("", "", "")),
    }


def _build_labels(subject):
    right = find_right_output(subject)
    return {
        "guardian_label": "corrected" if right else "correct" if is_right(subject) else None,
        "guardian_corrected_output": orjson.dumps(right).decode() if right else None,
    }


def _build_verdict(audit, subject, choice, correction):
    """The verdict on a write, with `correction` or that of the write itself.

    The write's own is a correction or a rollback of it.
    """
    if choice == RIGHT:
        return PartVerdict("correct")
    if correction:
        # Refuse a correction that is not valid, or that repeats what was done.
        if correction.status not in STATUSES:
            raise Refused(_("A write should have been either written or refused."))
        if correction.content and correction.status != "written":
            raise Refused(_("What is refused leaves the file as it was: leave its content out."))
        if correction.status == subject.status and correction.content in ("", subject.after):
            raise Refused(_("This is what was done. Say what would have been right, or that it is right."))
        output = {"status": correction.status, "targetFile": audit.target_file, "reason": correction.reason}
        return PartVerdict("corrected", output | ({"content": correction.content} if correction.content else {}))
    known = find_right_output(subject)
    return PartVerdict("corrected", known) if known else PartVerdict("incorrect")


def find_samples(agent: Agent, audit_ids: Collection[str]) -> dict[str, list[DatasetSample]]:
    """The sample in use of each of these writes of one agent, by write id."""
    ids = find_sample_ids(agent, audit_ids)
    samples = DatasetSample.objects.filter(id__in=list(ids)).only(*READ)
    return {ids[sample.id]: [sample] for sample in samples if sample.annotation_status}


def find_sample_ids(agent: Agent, audit_ids: Collection[str]) -> dict[str, str]:
    """The ids that samples of these writes may have, each with the id of its write."""
    rows = GuardianReceipt.objects.using(agent.db).filter(audit_id__in=list(audit_ids)).exclude(id=F("audit_id"))
    earlier = rows.values_list("id", "audit_id") if audit_ids else ()
    names = [*((name, name) for name in audit_ids), *earlier]
    return {sample_store.compute_sample_id(agent.agent_id, reported_id, KEY): name for reported_id, name in names}


def find_sample_id(agent: Agent, audit_id: str) -> str:
    """The id of a write's stored sample, else of the sample that it would get."""
    ids = find_sample_ids(agent, [audit_id])
    stored_id = (
        DatasetSample.objects.filter(id__in=list(ids)).values_list("id", flat=True).order_by("created_at").first()
    )
    return stored_id or sample_store.compute_sample_id(agent.agent_id, audit_id, KEY)


def _find_judgeable(audits):
    """Ids of writes with a turn, or without one while nobody has opted out; not of rollbacks."""
    own = [row for row in audits if row.origin != WriteGuardianAudit.Origin.ROLLBACK]
    alone = {row.id for row in own if row.turn_id is None}
    alone = set() if alone and consent.read_opted_out() else alone
    return alone | {row.id for row in own if row.turn_id is not None}


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
    read_subject=read_subject,
    body=content,
    columns=_build_columns,
    labels=_build_labels,
    verdict=_build_verdict,
    find_samples=lambda agent, audits: find_samples(agent, [audit.id for audit in audits]),
    find_sample_id=find_sample_id,
    rows=WriteGuardianAudit.objects.only("id", "turn_id", "origin"),
    judgeable=_find_judgeable,
    reads_again=True,  # corrections and rollbacks since the sample was created count
)
