"""API of the model that scores samples: plans and runs."""

from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from agents.runners.choice import Choice
from agents.runners.schemas import ChoiceIn, ChoiceQuery, EstimateOut, build_choice
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations

from . import scoring

router = Operations("model_scores_api", tags=["samples"])


class ScorePlanOut(EstimateOut):
    samples: int = Field(description="samples that would be sent")


@router.get("/agents/{agent}/samples/scores", ScorePlanOut, 404, 409, 503)
@agent_view_for("operator")
def score_plan(request, agent, query: Query[ChoiceQuery]):
    """Plan to have samples of turns scored by the model of the settings.

    Nothing is sent.
    """
    return scoring.plan_run(agent, build_choice(query, Choice)).as_json()


@router.post("/agents/{agent}/samples/scores", {202: JobOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def score_run(request, agent, body: ChoiceIn):
    """Have samples of turns scored; returns the job.

    The words of the samples leave this machine.
    """
    return Status(202, scoring.start_run(agent, build_choice(body, Choice), by=request.user.username))
