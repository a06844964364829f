"""Opinions on writes, and their samples; those that people corrected or took back are sent to review."""

from django.core.exceptions import PermissionDenied

from agents.decorators import agent_view
from guardian.correcting import telling
from guardian.rollbacks.api import in_spec
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from ..models import DatasetSample
from . import judging, opinions, queueing
from .forms import correction
from .opinions import LEAVE, Opinion
from .schemas import OpinionIn, OpinionOut, WriteSampleIn, WriteSampleOut, WritesQueuedOut

router = Operations("datasets_writes_api", tags=["samples"])


@router.post("/agents/{agent}/guardian/writes/{audit_id}/sample", WriteSampleOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
def write_sample(request, agent, audit_id: str, body: WriteSampleIn):
    """Say that a write is right or wrong, which makes its sample; or create the sample without a verdict.

    A right write, or a wrong one of which is known what would be right, is approved; another wrong one needs review.
    """
    right = correction(body.correct_status or "", body.correct_reason, body.correct_content)
    sample = judging.say(agent, audit_id, body.verdict, by=request.user.username, correction=right)
    status = sample.annotation_status or DatasetSample.Status.PENDING
    return {"sample_id": sample.id, "sample_type": sample.sample_type, "annotation_status": status}


@router.post("/agents/{agent}/guardian/samples", WritesQueuedOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
def write_samples(request, agent):
    """Send writes to the review queue that were corrected or rolled back and have no sample yet, newest first."""
    return queueing.queue(agent)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/opinion", OpinionOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
def write_opinion(request, agent, audit_id: str, body: OpinionIn):
    """Say that a write is right, should not be there, or should say something else: verdict and correction at once.

    Both are stored first, or neither. Then the rollback is done: when it fails, `failure` says why, and what was stored
    stays. Said again, it stays said once.
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
    result = opinions.give(agent, audit_id, opinion, by=request.user.username)
    return {
        "correction": telling.correction(result.correction) if result.correction else None,
        "sample_id": result.sample.id if result.sample else None,
        "no_sample": result.problem,
        "rolled_back": in_spec(result.rollback) if result.rollback else None,
        "handover": result.handover,
        "failure": result.failure,
    }
