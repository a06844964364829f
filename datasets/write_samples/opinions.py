"""One opinion on a write: its verdict and its correction, stored together; then a rollback, where that is wanted."""

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
    """What a person says of a write: a kind of KINDS, with the fact and file that it should have been, and why.

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
    """What was stored of an opinion, and what became of its rollback.

    `correction` is the one that stands; `is_new`: it was stored now. `problem` says why there is no sample, `failure`
    why the rollback failed: what was stored before stays.
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
    """Store an opinion, then carry out its rollback. Given again, it stays given once.

    Raises NoSuchWrite; Refused, and nothing is stored, for what is no correction, no rule or no verdict. A rollback
    that fails is a sentence in the result.
    """
    _check(opinion)
    with write_queue.agent_transaction(agent.db):
        audit = WRITE.find(agent, audit_id)
        result = _correct(agent, audit, opinion, by)
        # Last: the verdict is in another file, and is committed when nothing is left that could refuse.
        _judge(agent, audit, opinion, by, result)
    if result.correction and result.is_new:
        correction_store.log_correction(agent, result.correction)
    if opinion.way != LEAVE and not _is_rolled_back(agent, audit_id):
        _take_back(agent, audit_id, opinion, by, result)
    return result


def _check(opinion):
    if opinion.kind not in KINDS:
        raise Refused(_("Choose what you say of this write: right, should not be there, or should say something else."))
    if opinion.kind == RIGHT and (opinion.way != LEAVE or opinion.rule is not None):
        raise Refused(_("A write that is right is neither rolled back nor the reason for a rule."))
    if opinion.way not in WAYS:
        raise Refused(_("Choose what becomes of the file."))
    if opinion.way != LEAVE and len(opinion.reason) > LONGEST_REASON:
        raise Refused(_("A reason has at most 1,000 characters."))


def _correct(agent, audit, opinion, by) -> OpinionResult:
    """Store the correction that an opinion is; one that stands already is not stored again."""
    before = next(iter(correction_store.find_by_write(agent.db, audit.id)), None)
    was = correction_store.get_original_state(agent.db, audit)
    said = _read_opinion(opinion, was)
    if _stands(before, said, opinion.rule):
        return OpinionResult(correction=before)
    if opinion.kind == RIGHT:
        is_needed = before is not None or correction_store.is_against_its_rule(agent.db, audit, said)
        if not is_needed:
            return OpinionResult()
    fact = None if said.fact == was.fact else said.fact  # which may be longer than anybody may type
    asked = {"status": said.status, "fact": fact, "file": said.file, "by": by, "may_end_rule": opinion.may_end_rule}
    reason = opinion.reason.strip() or (_("Right as it was written.") if opinion.kind == RIGHT else "")
    rule = {"apply_to_future": True, **opinion.rule} if opinion.rule is not None else {}
    asked["correction_id"] = _lost_correction(agent, audit, by)
    return OpinionResult(correction_store.add_correction(agent, audit, reason=reason, **asked, **rule), is_new=True)


def _lost_correction(agent, audit, by):
    """The id of the correction that this person's verdict in force was stored with, if it was not stored itself.

    The two are in two files: between their commits a process may be killed. What is sent again completes it.
    """
    sample = DatasetSample.objects.filter(id=WRITE.find_sample_id(agent, audit.id), annotated_by=by).first()
    label = sample and SampleLabel.objects.filter(id=sample.label_id or "").first()
    filed = label.before.get(verdicts.FILED_CORRECTION, "") if label else ""
    is_stored = BehaviorCorrection.objects.using(agent.db).filter(id=filed).exists()
    return "" if is_stored else filed


def _read_opinion(opinion, was: WriteState) -> WriteState:
    if opinion.kind == RIGHT:
        return was
    if opinion.kind == ABSENT:
        return WriteState(Status.REFUSED.value, was.fact, was.file)
    return WriteState(Status.WRITTEN.value, opinion.fact.strip() or was.fact, opinion.file or was.file)


def _stands(before, said: WriteState, rule):
    """Whether the correction that stands says this already, and is the rule that is wanted, if one is."""
    if (
        before is None
        or before.imported_from is not None
        or said.is_other_than(correction_store.get_corrected_state(before))
    ):
        return False
    return rule is None or correction_store.is_same_rule(before, rule)


def _judge(agent, audit, opinion, by, result):
    """Give the verdict on the write's sample. Of a write that can have none, the correction alone is stored."""
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


def _is_rolled_back(agent, audit_id):
    return WRITE.find(agent, audit_id).status == Status.ROLLED_BACK


def _take_back(agent, audit_id, opinion, by, result):
    wish = RollbackRequest(by, opinion.reason, accepts_effect=opinion.way == WRITE_NOW)
    try:
        if opinion.way == HAND_OVER:
            about = {"seen": opinion.seen, "puts_back": opinion.puts_back}
            result.handover = handovers.start(agent, handovers.hand_over_rollback(agent, audit_id, wish, **about))
        else:
            result.rollback = service.roll_back(agent, audit_id, wish, seen=opinion.seen)
            result.meanwhile = result.rollback.meanwhile
    except Refused as refused:
        result.failure = refused.sentence
    except (OSError, DatabaseError) as error:  # what was said is stored: the answer has to say so
        result.failure = _("The rollback failed: %(error)s.") % {"error": str(error).rstrip(".")}
