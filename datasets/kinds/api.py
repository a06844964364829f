"""The API of samples of decisions and writes, and of opinions on writes."""

from django.core.exceptions import PermissionDenied

from agents.decorators import agent_view
from guardian.corrections import api_detail
from guardian.rollbacks.api import result_to_json
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from ..models import DatasetSample
from ..write_samples import opinions
from ..write_samples.opinions import LEAVE, Opinion
from . import review_requests
from .decision import DECISION
from .forms import correct_decision, correct_write
from .schemas import (
    DecisionSampleIn,
    DecisionSampleOut,
    OpinionIn,
    OpinionOut,
    WriteSampleIn,
    WriteSampleOut,
    WritesQueuedOut,
)
from .verdict_service import give_verdict
from .write import WRITE

router = Operations("datasets_writes_api", tags=["samples"])


@router.post("/agents/{agent}/gate/decisions/{decision_id}/sample", DecisionSampleOut, 400, 404, 409, 503,
             ids="datasets_decisions_api")  # fmt: skip
@agent_view
@needs("labeller")
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
@agent_view
@needs("labeller")
def write_sample(request, agent, audit_id: str, body: WriteSampleIn):
    """Judge a write, which creates its sample, or create the sample without a verdict.

    A right write, or a wrong one with a known correction, is approved; another wrong one needs review.
    """
    right = correct_write(body.correct_status or "", body.correct_reason, body.correct_content)
    return _build_answer(give_verdict(WRITE, agent, audit_id, body.verdict, by=request.user.username, correction=right))


@router.post("/agents/{agent}/guardian/samples", WritesQueuedOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
def write_samples(request, agent):
    """Send corrected or rolled back writes without a sample to the review queue, newest first."""
    return review_requests.queue_writes(agent)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/opinion", OpinionOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
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
        "correction": api_detail.correction_to_json(result.correction) if result.correction else None,
        "sample_id": result.sample.id if result.sample else None,
        "no_sample": result.problem,
        "rolled_back": result_to_json(result.rollback) if result.rollback else None,
        "handover": result.handover,
        "failure": result.failure,
    }


def _build_answer(sample):
    status = sample.annotation_status or DatasetSample.Status.PENDING
    return {"sample_id": sample.id, "sample_type": sample.sample_type, "annotation_status": status}
