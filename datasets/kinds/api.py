"""The API of samples of decisions and writes, and of opinions on writes."""

from typing import Any, Literal

from django.core.exceptions import PermissionDenied
from pydantic import Field

from agents.decorators import agent_view_for
from guardian.corrections import patterns
from guardian.corrections.api import correction_to_json
from guardian.corrections.schemas import Contains, CorrectionOut, File, Text
from guardian.handover.api import HandoverStarted
from guardian.rollbacks.api import RolledBackOut, result_to_json
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema

from ..forms import LONGEST_NOTES
from ..models import DatasetSample
from ..review.parts import DECISIONS
from ..schemas import NO_NUL, Status, Type
from ..write_samples import opinions
from ..write_samples.corrected_files import LONGEST_FILE
from ..write_samples.opinions import KINDS, LEAVE, WAYS, Opinion
from . import review_requests
from .decision import DECISION
from .forms import correct_decision, correct_write
from .verdict_service import give_verdict
from .write import STATUSES, WRITE


class DecisionSampleIn(Body):
    """A verdict on a decision; only a wrong decision takes a correction."""

    verdict: Literal["right", "wrong", "none"] = Field(
        description="`none`: create an `annotated_turn` sample without a verdict on the decision, or without a turn "
        "the decision's own"
    )
    correct_decision: Literal[DECISIONS] | None = Field(  # type: ignore[valid-type]
        None, description="what would have been right; left out: the sample needs review"
    )
    correct_fact: str = Field(
        "", max_length=LONGEST_NOTES, pattern=NO_NUL, description="required unless the decision is `NO_WRITE`"
    )
    correct_reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)


class WriteSampleIn(Body):
    """A verdict on a write; only a wrong write takes a correction."""

    verdict: Literal["right", "wrong", "none"] = Field(description="`none`: create its sample without a verdict")
    correct_status: Literal[STATUSES] | None = Field(  # type: ignore[valid-type]
        None, description="what would have been right; left out: as a correction or rollback of the write says"
    )
    correct_reason: str = Field("", max_length=LONGEST_NOTES, pattern=NO_NUL)
    correct_content: str = Field(
        "", max_length=LONGEST_FILE, pattern=NO_NUL, description="of `written`: the whole file as it should be"
    )


class DecisionSampleOut(Schema):
    sample_id: str
    sample_type: Type
    annotation_status: Status


class WriteSampleOut(DecisionSampleOut):
    pass


class WritesQueuedOut(Schema):
    made: list[str] = Field(description="ids of new samples")
    existing: list[str] = Field(description="ids of writes that have a sample")
    skipped: list[dict[str, Any]] = Field(description="writes that cannot become samples: `id`, `reason`")


class OpinionRuleIn(Body):
    """A rule for facts like that of the write: its words, or a pattern."""

    name: str = Field("", max_length=patterns.LONGEST_NAME, pattern=NO_NUL, description="in words")
    contains: Contains = Field([], max_length=patterns.MOST_LINES, description="one piece of each of these lists")
    pattern: str = Field("", max_length=patterns.LONGEST_PATTERN, pattern=NO_NUL, description="instead of `contains`")


class OpinionIn(Body):
    """One opinion on a write, with a rule and a rollback that follow from it."""

    opinion: Literal[KINDS]  # type: ignore[valid-type]
    reason: str = Field("", **Text, description="of a wrong write: kept with everything that is filed")
    fact: str = Field("", **Text, description="of `should_say`; left out: as it was")
    file: File | None = Field(None, description="of `should_say`; left out: as it was")
    rule: OpinionRuleIn | None = Field(None, description="needs the role operator")
    sample: bool = Field(True, strict=True, description="create the sample where there is none")
    rollback: Literal[WAYS] = Field(  # type: ignore[valid-type]
        LEAVE, description="what becomes of the file; needs the role operator; `write_now`: knowing the effect"
    )
    seen: str | None = Field(None, description="of the preview; null: nobody saw one")
    put_back: bool = Field(False, strict=True, description="of `hand_over`: as for a handover")


class OpinionOut(Schema):
    """The stored opinion, and the result of its rollback.

    A rollback that fails takes back no part of the stored opinion.
    """

    correction: CorrectionOut | None = Field(description="the one that stands; null: none was needed")
    sample_id: str | None
    no_sample: str = Field(description="why the write has no sample; empty: it has one, or none was wanted")
    rolled_back: RolledBackOut | None
    handover: HandoverStarted | None
    failure: str = Field(description="why the rollback was not done; empty: it was, or none was wanted")


router = Operations("datasets_writes_api", tags=["samples"])


@router.post("/agents/{agent}/gate/decisions/{decision_id}/sample", DecisionSampleOut, 400, 404, 409, 503,
             operation_id="datasets_decisions_api_decision_sample")  # fmt: skip
@agent_view_for("labeller")
def decision_sample(request, agent, decision_id: str, body: DecisionSampleIn):
    """Judge a decision, which creates its sample, or create a sample without a verdict.

    A right decision, or a wrong one with a correction, is approved; a wrong one without a correction needs review. The
    same request again keeps one sample.
    """
    right = correct_decision(body.correct_decision or "", body.correct_fact, body.correct_reason)
    return _build_answer(
        give_verdict(DECISION, agent, decision_id, body.verdict, by=request.user.username, correction=right)
    )


@router.post("/agents/{agent}/guardian/writes/{audit_id}/sample", WriteSampleOut, 400, 404, 409, 503)
@agent_view_for("labeller")
def write_sample(request, agent, audit_id: str, body: WriteSampleIn):
    """Judge a write, which creates its sample, or create the sample without a verdict.

    A right write, or a wrong one with a known correction, is approved; another wrong one needs review.
    """
    right = correct_write(body.correct_status or "", body.correct_reason, body.correct_content)
    return _build_answer(give_verdict(WRITE, agent, audit_id, body.verdict, by=request.user.username, correction=right))


@router.post("/agents/{agent}/guardian/samples", WritesQueuedOut, 400, 404, 409, 503)
@agent_view_for("labeller")
def write_samples(request, agent):
    """Send corrected or rolled back writes without a sample to the review queue, newest first."""
    return review_requests.queue_writes(agent)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/opinion", OpinionOut, 400, 404, 409, 503)
@agent_view_for("labeller")
def write_opinion(request, agent, audit_id: str, body: OpinionIn):
    """Say that a write is right, should not be there, or should say something else.

    Verdict and correction are stored first, both or neither. Then the rollback is done: when it fails, `failure` says
    why, and the stored opinion stays. The same opinion again changes nothing.
    """
    if (body.rule or body.rollback != LEAVE) and not request.user.has_role("operator"):
        raise PermissionDenied
    opinion = Opinion(
        body.opinion,
        reason=body.reason,
        fact=body.fact,
        file=body.file or "",
        rule=body.rule.dict() if body.rule else None,
        makes_sample=body.sample,
        way=body.rollback,
        seen=body.seen,
        puts_back=body.put_back,
        may_end_rule=request.user.has_role("operator"),
    )
    result = opinions.give_opinion(agent, audit_id, opinion, by=request.user.username)
    return {
        "correction": correction_to_json(result.correction) if result.correction else None,
        "sample_id": result.sample.id if result.sample else None,
        "no_sample": result.problem,
        "rolled_back": result_to_json(result.rollback) if result.rollback else None,
        "handover": result.handover,
        "failure": result.failure,
    }


def _build_answer(sample):
    status = sample.annotation_status or DatasetSample.Status.PENDING
    return {"sample_id": sample.id, "sample_type": sample.sample_type, "annotation_status": status}
