"""API of our own gate: its status, plans, runs, and the switch of an agent."""

from ninja import Query, Status

from agents.decorators import agent_view_for
from agents.runners import switches
from agents.runners.status import switch_as_json
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations

from . import job, plans, status
from .config import RUNNER
from .schemas import OwnGateOut, PlanOut, RunIn, RunQuery, SwitchIn, SwitchOut

router = Operations("gate_own_api", tags=["gate"])


@router.get("/agents/{agent}/gate/own", OwnGateOut, 404, 503)
@agent_view_for("viewer")
def own_gate(request, agent):
    """The gate of this site for an agent.

    Its switch, the calls of this UTC day, and the latest runs.
    """
    gate_status = status.read_gate_status(agent)
    today = {f"{name}_today": gate_status.today[name] for name in ("decided", "failed", "malformed", "sent")}
    return {**gate_status.as_json(), "switch": switch_as_json(gate_status.switched), **today}


@router.get("/agents/{agent}/gate/run", PlanOut, 404, 409, 503)
@agent_view_for("operator")
def gate_plan(request, agent, query: Query[RunQuery]):
    """Plan a run of the built-in gate: turns, endpoint, and estimated tokens and cost.

    Nothing is sent.
    """
    return plans.plan_run(agent, query.choice).as_json()


@router.post("/agents/{agent}/gate/run", {202: JobOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def gate_run(request, agent, body: RunIn):
    """Judge turns with the built-in gate; returns the job.

    The words of the turns leave this machine.
    """
    return Status(202, job.start_run(agent, body.choice, by=request.user.username))


@router.post("/agents/{agent}/gate/switch", SwitchOut, 400, 404, 503)
@agent_view_for("admin")
def gate_switch(request, agent, body: SwitchIn):
    """Have new turns of an agent judged automatically, or no longer."""
    if body.is_on:
        return switch_as_json(switches.turn_on(RUNNER, agent, by=request.user.username))
    switches.turn_off(RUNNER, agent, by=request.user.username)
    return switch_as_json(None)
