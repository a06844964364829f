"""Our own guardian: how it stands, what a run would send, runs, proposals and what becomes of them."""

from ninja import Query, Status

from agents.decorators import agent_view
from agents.runners import switches
from agents.runners.status import switch_as_json
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from ..handover import handovers
from ..handover.schemas import HandoverStarted
from ..models import GuardianStep
from ..rollbacks.api import offer_to_json
from . import job, plans, proposal_page, proposals, retries, status, unattended_writes
from .llm.config import RUNNER
from .schemas import (
    ApproveIn,
    DeclineIn,
    GuardianPlanOut,
    GuardianRunIn,
    GuardianRunQuery,
    OwnGuardianOut,
    ProposalDetail,
    ProposalHandoverIn,
    ProposalOut,
    ProposalQuery,
    ProposalWritten,
    RetryIn,
    RetryOut,
    UnattendedIn,
    UnattendedOut,
)

router = Operations("guardian_own_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/own", OwnGuardianOut, 404, 503)
@agent_view
@needs("viewer")
def own_guardian(request, agent):
    """The built-in guardian for an agent: unattended files, what this UTC day used, the latest runs."""
    own = status.read_guardian_status(agent)
    return {
        **own.as_json(),
        "unattended": [_switched(name, switched) for name, switched in own.switches.items()],
        "proposed": own.proposed,
        "written_today": own.written_today,
        "refused_today": own.refused_today,
    }


@router.get("/agents/{agent}/guardian/run", GuardianPlanOut, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_plan(request, agent, wanted: Query[GuardianRunQuery]):
    """What a run of the built-in guardian would send, where to, and its estimated tokens. Nothing is sent."""
    return plans.plan_run(agent, wanted.asked).as_json()


@router.post("/agents/{agent}/guardian/run", {202: JobOut}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_run(request, agent, wanted: GuardianRunIn):
    """Have facts of decisions proposed for the memory files; returns the job. These files leave this machine."""
    return Status(202, job.start_run(agent, wanted.asked, by=request.user.username))


@router.post("/agents/{agent}/guardian/unattended", UnattendedOut, 400, 404, 409, 503)
@agent_view
@needs("admin")
def guardian_unattended(request, agent, wanted: UnattendedIn):
    """Write new facts into a memory file without a person, or no longer."""
    if wanted.is_on:
        return _switched(wanted.file, unattended_writes.turn_on(agent, wanted.file, by=request.user.username))
    switches.turn_off(RUNNER, agent, wanted.file, by=request.user.username)
    return _switched(wanted.file, None)


@router.get("/agents/{agent}/guardian/proposals", Page[ProposalOut], 404, 409, 503)
@agent_view
@needs("operator")
def guardian_proposal_list(request, agent, filters: Query[ProposalQuery]):
    """Proposals that wait, newest first; with `waiting=false` every fact that our guardian handled."""
    return page_to_json(proposal_page.read_proposal_page(agent, is_waiting=filters.waiting, **filters.place))


@router.get("/agents/{agent}/guardian/proposals/{proposal_id}", ProposalDetail, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_proposal_detail(request, agent, proposal_id: str):
    """One proposal: what it would change in the file as it is now, and every step of the model."""
    run = proposals.find(agent.db, proposal_id)
    looked = proposal_page.build_proposal_context(agent, run)
    columns = {name: getattr(run, name) for name in ProposalOut.model_fields}
    return {
        **columns,
        "diff": looked.patch if looked.has_change else None,
        "seen": looked.made.seen if looked.made else None,
        "is_merged": bool(looked.made and looked.made.is_merged),
        "problem": looked.problem,
        "effect": looked.effect.effect if looked.effect else None,
        "effect_sentence": looked.effect.sentence if looked.effect else "",
        "handover": offer_to_json(looked.offer) if looked.offer else None,
        "steps": list(GuardianStep.objects.using(agent.db).filter(run=run).order_by("created_at", "id")),
    }


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/approve", ProposalWritten, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_proposal_approve(request, agent, proposal_id: str, told: ApproveIn):
    """Write a proposal into the file as it was looked at. The file must be as it was then."""
    about = {"seen": told.seen, "accepts_effect": told.write_now}
    return proposals.approve(agent, proposal_id, by=request.user.username, **about)


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/handover", {202: HandoverStarted}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_proposal_hand_over(request, agent, proposal_id: str, told: ProposalHandoverIn):
    """Have the agent write a proposal itself; returns the job. The model of the agent reads the change."""
    about = {"seen": told.seen, "puts_back": told.put_back}
    row = handovers.hand_over_proposal(agent, proposal_id, by=request.user.username, **about)
    return Status(202, handovers.start(agent, row))


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/decline", ProposalOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_proposal_decline(request, agent, proposal_id: str, told: DeclineIn):
    """Leave a proposal unwritten: a refused write, with the reason."""
    return proposals.decline(agent, proposal_id, by=request.user.username, reason=told.reason)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/retry", {202: RetryOut}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_retry(request, agent, audit_id: str, told: RetryIn):
    """Have a write proposed again, with another fact or file; returns the job."""
    by = request.user.username
    run = retries.build_run(agent, audit_id, fact=told.fact, file=told.file, by=by)
    return Status(202, {"proposal_id": run.id, "job": retries.start(agent, run, by=by)})


def _switched(name, switched):
    return {"file": name, **switch_as_json(switched)}
