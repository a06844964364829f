"""API of rollbacks: their previews, and the rollbacks themselves."""

from dataclasses import asdict

from ninja import Query, Status

from agents.decorators import agent_view
from agents.models import Agent
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from ..handover import handovers
from ..handover.offers import Offer
from ..handover.schemas import HandoverStarted
from ..standing import effects
from . import rollback_plan, rollback_preview, service, session_plan
from .schemas import (
    HandoverIn,
    RollbackIn,
    RollbackPlanOut,
    RollbackQuery,
    RolledBackOut,
    SessionRollbackIn,
    SessionRollbackPlanOut,
    SessionRollbackQuery,
    SessionRolledBackOut,
)

router = Operations("guardian_rollbacks_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/writes/{audit_id}/rollback", RollbackPlanOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rollback_preview(request, agent, audit_id: str, query: Query[RollbackQuery]):
    """Preview what rolling back a write would change in the file as it is now.

    The preview writes no file.
    """
    return preview_to_json(
        rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit_id, hunk=query.hunk))
    )


@router.post("/agents/{agent}/guardian/writes/{audit_id}/rollback", RolledBackOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rollback(request, agent, audit_id: str, body: RollbackIn):
    """Roll back a write as it was previewed.

    Takes five seconds: the displaced file is watched for late writers.
    """
    rollback_request = body.build_request(request.user.username)
    result = service.roll_back(agent, audit_id, rollback_request, seen=body.seen, hunk=body.hunk, chosen=body.chosen)
    return result_to_json(result)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/handover", {202: HandoverStarted}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rollback_hand_over(request, agent, audit_id: str, body: HandoverIn):
    """Have the agent roll back a write itself; returns the job.

    The model of the agent reads the change.
    """
    options = {"seen": body.seen, "hunk": body.hunk, "chosen": body.chosen, "puts_back": body.put_back}
    row = handovers.hand_over_rollback(agent, audit_id, body.build_request(request.user.username), **options)
    return Status(202, handovers.start(agent, row))


@router.get("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRollbackPlanOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_session_rollback_preview(request, agent, session_id: str, query: Query[SessionRollbackQuery]):
    """Preview what rolling back all writes of a session would change.

    `session_id` is the session's id or its key. The preview writes no file.
    """
    return session_preview_to_json(agent, session_id, query.since, query.until)


@router.post("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRolledBackOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_session_rollback(request, agent, session_id: str, body: SessionRollbackIn):
    """Roll back all writes of a session, the last one first: all of them, or none."""
    span = {"since": body.since, "until": body.until}
    rollback_request = body.build_request(request.user.username)
    results = service.roll_back_session(
        agent, session_id, rollback_request, seen=body.seen, leave_out=body.leave_out, **span
    )
    return {"rollbacks": [result_to_json(result) for result in results]}


def preview_to_json(preview: rollback_preview.RollbackPreview) -> dict:
    """Return a preview in the format of the API."""
    plan = preview.plan
    return {
        "audit_id": plan.audit.id,
        "file": plan.name,
        "now_hash": plan.now_hash,
        "seen": plan.seen,
        "has_changed": plan.has_changed,
        "way": plan.way,
        "hunk": plan.hunk,
        "conflicts": [asdict(conflict) for conflict in preview.conflicts],
        "patch": preview.change.patch,
        "problem": preview.problem,
        "effect": preview.effect.effect,
        "effect_sentence": preview.effect.sentence,
        "handover": offer_to_json(preview.offer),
    }


def offer_to_json(offer: Offer) -> dict:
    """Return whether a change can be handed to the agent, in the format of the API."""
    return {name: getattr(offer, name) for name in ("is_needed", "puts_back", "problem")}


def session_preview_to_json(agent: Agent, session_id: str, since: int | None, until: int | None) -> dict:
    """Return the preview of a session's rollback in the format of the API."""
    preview = session_plan.plan_session(agent, session_id, since=since, until=until)
    plans = [plan for file_plans in preview.by_file.values() for plan in file_plans]
    effect = effects.forecast_notice(agent, preview.contents)
    patches = [
        rollback_preview.compare_contents(file_plans[0].now, file_plans[-1].new_content, name).patch
        for name, file_plans in preview.by_file.items()
    ]
    return {
        "session_id": session_id,
        "hashes": preview.hashes,
        "audit_ids": [plan.audit.id for plan in plans],
        "conflicts": [plan.audit.id for plan in preview.conflicts],
        "unknown": [audit.id for audit in preview.unknown],
        "patch": "".join(patches),
        "problem": rollback_preview.find_problem(agent, preview.by_file),
        "effect": effect.effect,
        "effect_sentence": effect.sentence,
    }


def result_to_json(result: service.RollbackResult) -> dict:
    """Return a result with the names of the specification."""
    return {
        "audit_id": result.audit_id,
        "rollbackId": result.rollback_id,
        "success": result.success,
        "restoredTo": result.restored_to,
        "own_audit_id": result.own_audit_id,
        "meanwhile": result.meanwhile,
    }
