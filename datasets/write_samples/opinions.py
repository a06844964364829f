"""Stores an opinion on a write: its verdict and its correction, together.

A rollback that the opinion asks for follows.
"""

from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents.models import Agent
from guardian.corrections import correction_store
from guardian.corrections.correction_store import WriteState
from guardian.handover import handovers
from guardian.handover.handovers import HandoverStart
from guardian.models import BehaviorCorrection, WriteGuardianAudit
from guardian.rollbacks import service
from guardian.rollbacks.service import LONGEST_REASON, RollbackRequest
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue

from ..kinds import sample_store, verdict_service
from ..kinds.kind import RIGHT as IS_RIGHT
from ..kinds.kind import WRONG as IS_WRONG
from ..kinds.write import WRITE
from ..models import DatasetSample, SampleLabel
from ..review import verdicts

RIGHT, ABSENT, OTHER = KINDS = ("right", "should_not_be_there", "should_say")
LEAVE, ROLL_BACK, WRITE_NOW, HAND_OVER = WAYS = ("leave", "roll_back", "write_now", "hand_over")
Status = WriteGuardianAudit.Status


@dataclass(frozen=True, slots=True)
class Opinion:
    """A person's opinion on a write: one of KINDS, the right fact and file, why.

    `rule` holds `contains`, `pattern` and `name` of a rule for facts like it; None: no rule. `way` is one of WAYS;
    `seen` the preview of the rollback (None: nobody saw one). Without `makes_sample` no new sample is created.
    `expected` is the id of the verdict in force as the person saw it, empty for none; None: whatever it is.
    `may_end_rule`: whether this person may say otherwise than a rule that was made from the write.
    """

    kind: str
    reason: str = ""
    fact: str = ""
    file: str = ""
    rule: dict[str, Any] | None = None
    makes_sample: bool = True
    way: str = LEAVE
    seen: str | None = None
    puts_back: bool = False
    expected: str | None = None
    may_end_rule: bool = True


@dataclass(slots=True)
class OpinionResult:
    """The stored parts of an opinion, and the result of its rollback.

    `correction` is the one in force; `is_new`: it was stored now. `problem` says why there is no sample, `failure` why
    the rollback failed: the stored parts stay.
    """

    correction: BehaviorCorrection | None = None
    is_new: bool = False
    sample: DatasetSample | None = None
    problem: str = ""
    rollback: service.RollbackResult | None = None
    handover: HandoverStart | None = None
    failure: str = ""
    meanwhile: list[str] = field(default_factory=list)


def give_opinion(agent: Agent, audit_id: str, opinion: Opinion, *, by: str) -> OpinionResult:
    """Store an opinion, then carry out its rollback; the same opinion again changes nothing.

    Raises NoSuchWrite; Refused, and nothing is stored, for what is no correction, no rule or no verdict. A rollback
    that fails is a sentence in the result.
    """
    if opinion.kind not in KINDS:
        raise Refused(_("Choose what you say of this write: right, should not be there, or should say something else."))
    if opinion.kind == RIGHT and (opinion.way != LEAVE or opinion.rule is not None):
        raise Refused(_("A write that is right is neither rolled back nor the reason for a rule."))
    if opinion.way not in WAYS:
        raise Refused(_("Choose what becomes of the file."))
    if opinion.way != LEAVE and len(opinion.reason) > LONGEST_REASON:
        raise Refused(_("A reason has at most 1,000 characters."))
    with write_queue.agent_transaction(agent.db):
        audit = WRITE.find(agent, audit_id)
        result = _store_correction(agent, audit, opinion, by)
        # Last: the verdict is in another file, and is committed when nothing is left that could refuse.
        _judge(agent, audit, opinion, by, result)
    if result.correction and result.is_new:
        correction_store.log_correction(agent, result.correction)
    if opinion.way != LEAVE and WRITE.find(agent, audit_id).status != Status.ROLLED_BACK:
        _roll_back(agent, audit_id, opinion, by, result)
    return result


def _store_correction(agent, audit, opinion, by) -> OpinionResult:
    """Store the correction that an opinion contains, unless it is in force already."""
    before = next(iter(correction_store.find_by_write(agent.db, audit.id)), None)
    original = correction_store.get_original_state(agent.db, audit)
    state = _read_opinion(opinion, original)
    if _is_in_force(before, state, opinion.rule):
        return OpinionResult(correction=before)
    if opinion.kind == RIGHT:
        is_needed = before is not None or correction_store.is_against_its_rule(agent.db, audit, state)
        if not is_needed:
            return OpinionResult()
    fact = (
        None if state.fact == original.fact else state.fact
    )  # the write's own fact may be longer than a typed one may be
    fields = {"status": state.status, "fact": fact, "file": state.file, "by": by, "may_end_rule": opinion.may_end_rule}
    reason = opinion.reason.strip() or (_("Right as it was written.") if opinion.kind == RIGHT else "")
    rule = {"apply_to_future": True, **opinion.rule} if opinion.rule is not None else {}
    # Verdict and correction are in two files: a process may be killed between their commits. The same opinion, sent
    # again, completes it: with the id of the correction that the person's verdict names and that is not stored.
    sample = DatasetSample.objects.filter(id=WRITE.find_sample_id(agent, audit.id), annotated_by=by).first()
    label = sample and SampleLabel.objects.filter(id=sample.label_id or "").first()
    filed = label.before.get(verdicts.FILED_CORRECTION, "") if label else ""
    is_stored = BehaviorCorrection.objects.using(agent.db).filter(id=filed).exists()
    fields["correction_id"] = "" if is_stored else filed
    return OpinionResult(correction_store.add_correction(agent, audit, reason=reason, **fields, **rule), is_new=True)


def _read_opinion(opinion, original: WriteState) -> WriteState:
    if opinion.kind == RIGHT:
        return original
    if opinion.kind == ABSENT:
        return WriteState(Status.REFUSED.value, original.fact, original.file)
    return WriteState(Status.WRITTEN.value, opinion.fact.strip() or original.fact, opinion.file or original.file)


def _is_in_force(before, state: WriteState, rule):
    """Whether the correction in force says this, and is the rule asked for, if any."""
    if (
        before is None
        or before.imported_from is not None
        or state.is_other_than(correction_store.get_corrected_state(before))
    ):
        return False
    return rule is None or correction_store.is_same_rule(before, rule)


def _judge(agent, audit, opinion, by, result):
    """Give the verdict on the write's sample.

    Where the write can have no sample, the correction alone is stored.
    """
    is_there = sample_store.is_stored(WRITE.find_sample_id(agent, audit.id))
    if not is_there and opinion.kind != RIGHT and not opinion.makes_sample:
        return
    if not is_there and (problem := verdict_service.find_problem(WRITE, agent, audit)):
        if result.correction is None:
            raise Refused(problem)
        result.problem = problem
        return
    verdict = IS_RIGHT if opinion.kind == RIGHT else IS_WRONG
    row = result.correction
    filed = row.id if row and result.is_new and not row.apply_to_future else ""
    result.sample = verdict_service.give_verdict(
        WRITE, agent, audit.id, verdict, by=by, expected=opinion.expected, filed=filed
    )


def _roll_back(agent, audit_id, opinion, by, result):
    request = RollbackRequest(by, opinion.reason, accepts_effect=opinion.way == WRITE_NOW)
    try:
        if opinion.way == HAND_OVER:
            options = {"seen": opinion.seen, "puts_back": opinion.puts_back}
            result.handover = handovers.start(agent, handovers.hand_over_rollback(agent, audit_id, request, **options))
        else:
            result.rollback = service.roll_back(agent, audit_id, request, seen=opinion.seen)
            result.meanwhile = result.rollback.meanwhile
    except Refused as refused:
        result.failure = refused.sentence
    except (OSError, DatabaseError) as error:  # the opinion is stored already: the answer has to say so
        result.failure = _("The rollback failed: %(error)s.") % {"error": str(error).rstrip(".")}
