"""Samples of decisions: say whether a decision of memory_gate is right."""

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from ..models import DatasetSample
from . import judging
from .forms import correction
from .schemas import DecisionSampleIn, DecisionSampleOut

router = Operations("datasets_decisions_api", tags=["samples"])


@router.post("/agents/{agent}/gate/decisions/{decision_id}/sample", DecisionSampleOut, 400, 404, 409, 503)
@agent_view
@needs("labeller")
def decision_sample(request, agent, decision_id: str, body: DecisionSampleIn):
    """Say that a decision is right or wrong, which makes its sample; or create a sample without a verdict.

    A right decision, or a wrong one with a correction, is approved; a wrong one without needs review. Said again, it
    stays one sample.
    """
    right = correction(body.correct_decision or "", body.correct_fact, body.correct_reason)
    sample = judging.say(agent, decision_id, body.verdict, by=request.user.username, correction=right)
    status = sample.annotation_status or DatasetSample.Status.PENDING
    return {"sample_id": sample.id, "sample_type": sample.sample_type, "annotation_status": status}
