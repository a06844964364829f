"""Samples of writes: say whether a write is right, and send those to review that people corrected or took back."""

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from ..models import DatasetSample
from . import judging, queueing
from .forms import correction
from .schemas import WriteSampleIn, WriteSampleOut, WritesQueuedOut

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
