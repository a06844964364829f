"""Rollbacks: what they would change, and doing it."""

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
def guardian_rollback_preview(request, agent, audit_id: str, asked: Query[RollbackQuery]):
    """What rolling back a write would change in the file as it is now; nothing is written."""
    return preview_to_json(
        rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit_id, hunk=asked.hunk))
    )


@router.post("/agents/{agent}/guardian/writes/{audit_id}/rollback", RolledBackOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rollback(request, agent, audit_id: str, asked: RollbackIn):
    """Roll back a write as it was previewed. Takes five seconds: the displaced file is watched for late writers."""
    wish = asked.wish(request.user.username)
    result = service.roll_back(agent, audit_id, wish, seen=asked.seen, hunk=asked.hunk, chosen=asked.chosen)
    return result_to_json(result)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/handover", {202: HandoverStarted}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_rollback_hand_over(request, agent, audit_id: str, asked: HandoverIn):
    """Have the agent roll back a write itself; returns the job. The model of the agent reads the change."""
    about = {"seen": asked.seen, "hunk": asked.hunk, "chosen": asked.chosen, "puts_back": asked.put_back}
    row = handovers.hand_over_rollback(agent, audit_id, asked.wish(request.user.username), **about)
    return Status(202, handovers.start(agent, row))


@router.get("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRollbackPlanOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_session_rollback_preview(request, agent, session_id: str, asked: Query[SessionRollbackQuery]):
    """What rolling back all writes of a session (its id or key) would change; nothing is written."""
    return session_preview_to_json(agent, session_id, asked.since, asked.until)


@router.post("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRolledBackOut, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_session_rollback(request, agent, session_id: str, asked: SessionRollbackIn):
    """Roll back all writes of a session, the last one first: all of them, or none."""
    span = {"since": asked.since, "until": asked.until}
    wish = asked.wish(request.user.username)
    results = service.roll_back_session(agent, session_id, wish, seen=asked.seen, leave_out=asked.leave_out, **span)
    return {"rollbacks": [result_to_json(result) for result in results]}


def preview_to_json(preview: rollback_preview.RollbackPreview) -> dict:
    """A preview as programs read it."""
    plan = preview.plan
    return {
        "audit_id": plan.audit.id,
        "file": plan.name,
        "now_hash": plan.now_hash,
        "seen": plan.seen,
        "has_changed": plan.has_changed,
        "way": plan.way,
        "hunk": plan.hunk,
        "conflicts": [asdict(one) for one in preview.conflicts],
        "patch": preview.change.patch,
        "problem": preview.problem,
        "effect": preview.effect.effect,
        "effect_sentence": preview.effect.sentence,
        "handover": offer_to_json(preview.offer),
    }


def offer_to_json(offer: Offer) -> dict:
    """Whether a change can be handed to the agent, as programs read it."""
    return {name: getattr(offer, name) for name in ("is_needed", "puts_back", "problem")}


def session_preview_to_json(agent: Agent, session_id: str, since: int | None, until: int | None) -> dict:
    """The preview of a session's rollback as programs read it."""
    made = session_plan.plan_session(agent, session_id, since=since, until=until)
    plans = [plan for some in made.by_file.values() for plan in some]
    effect = effects.forecast_notice(agent, made.contents)
    patches = [
        rollback_preview.compare_contents(some[0].now, some[-1].wanted, name).patch
        for name, some in made.by_file.items()
    ]
    return {
        "session_id": session_id,
        "hashes": made.hashes,
        "audit_ids": [plan.audit.id for plan in plans],
        "conflicts": [plan.audit.id for plan in made.conflicts],
        "unknown": [audit.id for audit in made.unknown],
        "patch": "".join(patches),
        "problem": rollback_preview.find_problem(agent, made.by_file),
        "effect": effect.effect,
        "effect_sentence": effect.sentence,
    }


def result_to_json(result: service.RollbackResult) -> dict:
    """A result with the names that the spec gives them."""
    return {
        "audit_id": result.audit_id,
        "rollbackId": result.rollback_id,
        "success": result.success,
        "restoredTo": result.restored_to,
        "own_audit_id": result.own_audit_id,
        "meanwhile": result.meanwhile,
    }
