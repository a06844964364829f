"""Our own gate: how it stands, what a run would send, runs, and the switch of an agent."""

from ninja import Query, Status

from agents.decorators import agent_view
from agents.runners import switches
from agents.runners.status import switch_as_json
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from . import job, plans, status
from .config import RUNNER
from .schemas import OwnGateOut, PlanOut, RunIn, RunQuery, SwitchIn, SwitchOut

router = Operations("gate_own_api", tags=["gate"])


@router.get("/agents/{agent}/gate/own", OwnGateOut, 404, 503)
@agent_view
@needs("viewer")
def own_gate(request, agent):
    """The gate of this site for an agent: its switch, the calls of this UTC day, the latest runs."""
    own = status.read_gate_status(agent)
    today = {f"{name}_today": own.today[name] for name in ("decided", "failed", "malformed", "sent")}
    return {**own.as_json(), "switch": switch_as_json(own.switched), **today}


@router.get("/agents/{agent}/gate/run", PlanOut, 404, 409, 503)
@agent_view
@needs("operator")
def gate_plan(request, agent, wanted: Query[RunQuery]):
    """What a run of the built-in gate would send, where to, and its estimated tokens and cost. Nothing is sent."""
    return plans.plan_run(agent, wanted.asked).as_json()


@router.post("/agents/{agent}/gate/run", {202: JobOut}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def gate_run(request, agent, wanted: RunIn):
    """Judge turns with the built-in gate; returns the job. Their words leave this machine."""
    return Status(202, job.start_run(agent, wanted.asked, by=request.user.username))


@router.post("/agents/{agent}/gate/switch", SwitchOut, 400, 404, 503)
@agent_view
@needs("admin")
def gate_switch(request, agent, wanted: SwitchIn):
    """Have new turns of an agent judged automatically, or no longer."""
    if wanted.is_on:
        return switch_as_json(switches.turn_on(RUNNER, agent, by=request.user.username))
    switches.turn_off(RUNNER, agent, by=request.user.username)
    return switch_as_json(None)
