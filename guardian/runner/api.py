"""API of the built-in guardian: its status, its runs and its proposals."""

from typing import Literal

from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from agents.runners import switches
from agents.runners.schemas import ChoiceIn, ChoiceQuery, EstimateOut, RunnerOut, SwitchedOut, build_choice
from agents.runners.status import switch_as_json
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema

from ..corrections.schemas import NO_NUL
from ..files import LONGEST_FACT
from ..handover import handovers
from ..handover.api import HandoverStarted
from ..models import GuardianRun, GuardianStep
from ..rollbacks.api import EFFECT, PUT_BACK, WRITE_NOW, HandoverOfferOut, offer_to_json
from ..standing.effects import Effect
from . import fact_handler, job, plans, proposal_page, proposals, unattended_writes
from .fact_selection import FactChoice
from .llm.config import RUNNER
from .proposals import LONGEST_REASON


class GuardianRunQuery(ChoiceQuery):
    @property
    def choice(self) -> FactChoice:
        return build_choice(self, FactChoice)


class GuardianRunIn(ChoiceIn):
    @property
    def choice(self) -> FactChoice:
        return build_choice(self, FactChoice)


class GuardianPlanOut(EstimateOut):
    facts: int = Field(description="facts that would be sent")
    files: dict[str, int] = Field(description="facts for each file; what these files hold is sent with them")


class UnattendedIn(Body):
    file: Literal["MEMORY.md", "USER.md", "TOOLS.md"] = Field(description="SOUL.md and IDENTITY.md never")
    is_on: bool = Field(strict=True, description="write new facts into this file without a person")


class UnattendedOut(SwitchedOut):
    file: str
    host: str | None = Field(description="the endpoint that was named when it was turned on")


class OwnGuardianOut(RunnerOut):
    unattended: list[UnattendedOut]
    proposed: int = Field(description="proposals that wait for an operator")
    written_today: int = Field(description="of facts that were handled since midnight UTC")
    refused_today: int


class ProposalQuery(PageQuery):
    waiting: bool = Field(True, description="only those that wait for an operator")


class ProposalOut(table_schema(GuardianRun)):
    state: str


class StepOut(table_schema(GuardianStep)):
    outcome: str


class ProposalDetail(ProposalOut):
    diff: str | None = Field(
        description="against the file as it is now; of a declined one, as it was; null: no change, or it is written"
    )
    seen: str | None = Field(description="to be sent with an approval")
    is_merged: bool = Field(description="the file has changed since the model read it")
    problem: str = Field(description="why it cannot be written now; empty if it can")
    effect: Effect | None = Field(description=f"{EFFECT}; null: nothing can be written")
    effect_sentence: str
    handover: HandoverOfferOut | None
    steps: list[StepOut]


class ApproveIn(Body):
    seen: str = Field(max_length=200, description="`seen` of the proposal that was looked at")
    write_now: bool = Field(False, strict=True, description=WRITE_NOW)


class ProposalHandoverIn(Body):
    seen: str = Field(max_length=200, description="`seen` of the proposal that was looked at")
    put_back: bool = Field(False, strict=True, description=PUT_BACK)


class DeclineIn(Body):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=NO_NUL)


class ProposalWritten(Schema):
    audit_id: str | None
    is_written: bool = Field(description="false: the file held it already, and the write is `skipped`")
    meanwhile: list[str] = Field(description="versions that somebody else wrote at that moment: kept, not in the file")


class RetryIn(Body):
    fact: str | None = Field(
        None, max_length=LONGEST_FACT, pattern=NO_NUL, description="default: the fact of the write"
    )
    file: Literal["MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md"] | None = None


class RetryOut(Schema):
    proposal_id: str
    job: JobOut


router = Operations("guardian_own_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/own", OwnGuardianOut, 404, 503)
@agent_view_for("viewer")
def own_guardian(request, agent):
    """The built-in guardian for an agent: unattended files, what this UTC day used, the latest runs."""
    own = plans.read_guardian_status(agent)
    return {
        **own.as_json(),
        "unattended": [_switch_to_json(name, switched) for name, switched in own.switches.items()],
        "proposed": own.proposed,
        "written_today": own.written_today,
        "refused_today": own.refused_today,
    }


@router.get("/agents/{agent}/guardian/run", GuardianPlanOut, 404, 409, 503)
@agent_view_for("operator")
def guardian_plan(request, agent, query: Query[GuardianRunQuery]):
    """Estimate what a run of the built-in guardian would send, and where to.

    The answer has the estimated tokens; no fact and no file is sent.
    """
    return plans.plan_run(agent, query.choice).as_json()


@router.post("/agents/{agent}/guardian/run", {202: JobOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_run(request, agent, body: GuardianRunIn):
    """Have facts of decisions proposed for the memory files; returns the job.

    The content of these files leaves this machine.
    """
    return Status(202, job.start_run(agent, body.choice, by=request.user.username))


@router.post("/agents/{agent}/guardian/unattended", UnattendedOut, 400, 404, 409, 503)
@agent_view_for("admin")
def guardian_unattended(request, agent, body: UnattendedIn):
    """Write new facts into a memory file without a person, or no longer."""
    if body.is_on:
        return _switch_to_json(body.file, unattended_writes.turn_on(agent, body.file, by=request.user.username))
    switches.turn_off(RUNNER, agent, body.file, by=request.user.username)
    return _switch_to_json(body.file, None)


@router.get("/agents/{agent}/guardian/proposals", Page[ProposalOut], 404, 409, 503)
@agent_view_for("operator")
def guardian_proposal_list(request, agent, filters: Query[ProposalQuery]):
    """List waiting proposals, newest first; with `waiting=false` every fact that the guardian handled."""
    return page_to_json(proposal_page.read_proposal_page(agent, is_waiting=filters.waiting, **filters.place))


@router.get("/agents/{agent}/guardian/proposals/{proposal_id}", ProposalDetail, 404, 409, 503)
@agent_view_for("operator")
def guardian_proposal_detail(request, agent, proposal_id: str):
    """One proposal with its change of the current file, and every step of the model."""
    run = proposals.find(agent.db, proposal_id)
    proposal = proposal_page.build_proposal_context(agent, run)
    columns = {name: getattr(run, name) for name in ProposalOut.model_fields}
    return {
        **columns,
        "diff": proposal.patch if proposal.has_change else None,
        "seen": proposal.preview.seen if proposal.preview else None,
        "is_merged": bool(proposal.preview and proposal.preview.is_merged),
        "problem": proposal.problem,
        "effect": proposal.effect.effect if proposal.effect else None,
        "effect_sentence": proposal.effect.sentence if proposal.effect else "",
        "handover": offer_to_json(proposal.offer) if proposal.offer else None,
        "steps": list(GuardianStep.objects.using(agent.db).filter(run=run).order_by("created_at", "id")),
    }


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/approve", ProposalWritten, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_proposal_approve(request, agent, proposal_id: str, body: ApproveIn):
    """Write a proposal into the file as it was previewed.

    The file must be as it was in the preview.
    """
    options = {"seen": body.seen, "accepts_effect": body.write_now}
    return proposals.approve(agent, proposal_id, by=request.user.username, **options)


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/handover", {202: HandoverStarted}, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_proposal_hand_over(request, agent, proposal_id: str, body: ProposalHandoverIn):
    """Have the agent write a proposal itself; returns the job.

    The model of the agent reads the change.
    """
    options = {"seen": body.seen, "puts_back": body.put_back}
    row = handovers.hand_over_proposal(agent, proposal_id, by=request.user.username, **options)
    return Status(202, handovers.start(agent, row))


@router.post("/agents/{agent}/guardian/proposals/{proposal_id}/decline", ProposalOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_proposal_decline(request, agent, proposal_id: str, body: DeclineIn):
    """Leave a proposal unwritten: a refused write, with the reason."""
    return proposals.decline(agent, proposal_id, by=request.user.username, reason=body.reason)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/retry", {202: RetryOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_retry(request, agent, audit_id: str, body: RetryIn):
    """Have a write proposed again, with another fact or file; returns the job."""
    by = request.user.username
    run = fact_handler.build_retry(agent, audit_id, fact=body.fact, file=body.file, by=by)
    return Status(202, {"proposal_id": run.id, "job": job.start_retry(agent, run, by=by)})


def _switch_to_json(name, switched):
    return {"file": name, **switch_as_json(switched)}
