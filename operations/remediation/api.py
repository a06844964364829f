"""Everything that stems from a message, and the plan that takes it back, in the API."""

from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema

from ..chain.api import ChainStep
from ..chain.chains import to_json
from ..models import Remediation
from . import job
from .plans import find_consequences

router = Operations("remediation_api", tags=["chain"])


class TurnQuery(Schema):
    turn: str = Field(description="id of the turn of the message")


class StepOut(Schema):
    """A step of a plan; `problem` says why it is not done or not taken back."""

    kind: str
    key: str
    title: str
    is_handed_over: bool
    state: str
    problem: str


class ConsequencesOut(Schema):
    """Everything that stems from a message."""

    chain: list[ChainStep]
    notes: list[str] = Field(description="daily notes that the turn wrote to")
    answers: list[dict[str, Any]] = Field(description="later replies that repeat it: `session_id`, `turn_number`")
    plan: list[StepOut]
    seen: str = Field(description="hash of this plan, to be sent with its start")
    is_cut: bool = Field(description="there may be more than is listed and than one plan takes back")


class PlanIn(TurnQuery, Body):
    reason: str
    seen: str


class RemediationOut(Schema):
    id: str
    turn_id: str
    reason: str
    started_by: str
    created_at: int
    steps: list[StepOut]

    @staticmethod
    def resolve_steps(row):
        return row.steps.order_by("number")


class RemediationStarted(Schema):
    remediation: RemediationOut
    job: JobOut


@router.get("/agents/{agent}/remediation", ConsequencesOut, 404, 409, 503)
@agent_view_for("operator")
def remediation(request, agent, query: Query[TurnQuery]):
    """Everything that stems from the message of a turn, and the plan that takes it back. Changes nothing."""
    result = find_consequences(agent, query.turn)
    answers = [{"session_id": reply.session_id, "turn_number": reply.turn_number} for reply in result.answers]
    facts = {"chain": to_json(result.chain), "notes": [node.id for node in result.notes], "answers": answers}
    return facts | {"plan": result.plan, "seen": result.seen, "is_cut": result.is_cut}


@router.post("/agents/{agent}/remediation", {202: RemediationStarted}, 400, 404, 409, 503)
@agent_view_for("operator")
def remediation_start(request, agent, body: PlanIn):
    """Carry out the plan as it was previewed."""
    by, result = request.user.username, find_consequences(agent, body.turn)
    row = job.store_plan(agent, result, reason=body.reason, seen=body.seen, by=by)
    return Status(202, {"remediation": row, "job": job.start(row, by=by)})


@router.get("/agents/{agent}/remediation/{remediation_id}", RemediationOut, 404, 503)
@agent_view_for("operator")
def remediation_detail(request, agent, remediation_id: str):
    """A plan, with the state of each step."""
    return get_object_or_404(Remediation, id=remediation_id, agent_id=agent.agent_id)


@router.post("/agents/{agent}/remediation/{remediation_id}/continue", {202: JobOut}, 404, 409, 503)
@agent_view_for("operator")
def remediation_continue(request, agent, remediation_id: str):
    """Go on with the steps that wait or failed."""
    row = get_object_or_404(Remediation, id=remediation_id, agent_id=agent.agent_id)
    return Status(202, job.start(row, by=request.user.username))


@router.post("/agents/{agent}/remediation/{remediation_id}/undo", {202: JobOut}, 404, 409, 503)
@agent_view_for("operator")
def remediation_undo(request, agent, remediation_id: str):
    """Take back the steps that are done, where that can be done."""
    row = get_object_or_404(Remediation, id=remediation_id, agent_id=agent.agent_id)
    return Status(202, job.start(row, by=request.user.username, is_undo=True))
