"""API of rollbacks: their previews, and the rollbacks themselves."""

import base64
from dataclasses import asdict
from typing import Literal

from django.utils.translation import gettext as _
from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from agents.models import Agent
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import BIGGEST, Body, Schema
from openclaw_web.errors import Refused

from ..handover import handovers
from ..handover.api import HandoverStarted
from ..handover.offers import Offer
from ..standing import effects
from ..standing.effects import Effect
from . import rollback_plan, rollback_preview, service
from .rollback_plan import MOST_WRITES
from .service import LONGEST_REASON, RollbackRequest
from .workspace import MOST_BYTES

MOMENT = {"ge": 0, "le": BIGGEST}
HASH = r"^([0-9a-f]{64})?$"


PUT_BACK = "where the offer says `puts_back`: the version that OpenClaw's record names is put back first"
EFFECT = (
    "what writing this does to the file's place in the prompt: nothing; taken_out: the agent's next write takes it "
    "out; unknown: OpenClaw's record cannot be read"
)
WRITE_NOW = "write although `effect` says that the agent's next write takes the file out of the prompt; this is kept"


class RollbackQuery(Schema):
    hunk: int | None = Field(None, ge=0, le=BIGGEST, description="only this change of the write, counted from 0")


class SessionRollbackQuery(Schema):
    since: int | None = Field(None, **MOMENT, description="milliseconds: writes at or after this time")
    until: int | None = Field(None, **MOMENT, description="milliseconds: writes before this time")


class _RollbackBody(Body):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*$")
    no_backup: bool = Field(False, strict=True, description="keep no copy of the file; versions are always kept")
    write_now: bool = Field(False, strict=True, description=WRITE_NOW)

    def build_request(self, by: str) -> RollbackRequest:
        return RollbackRequest(by, self.reason, keeps_copy=not self.no_backup, accepts_effect=self.write_now)


class _Choice(Schema):
    seen: str = Field(pattern=HASH, description="`seen` of the preview")
    hunk: int | None = Field(None, strict=True, ge=0, le=BIGGEST, description="only this change, counted from 0")
    content_base64: str | None = Field(
        None, max_length=MOST_BYTES * 4 // 3 + 4, description="what the file should hold where there are conflicts"
    )

    @property
    def chosen(self) -> bytes | None:
        """The content that a person chose. Raises Refused when it is none, or too long."""
        if self.content_base64 is None:
            return None
        try:
            data = base64.b64decode(self.content_base64, validate=True)
        except ValueError as exc:  # binascii.Error is one, and so is what is no ASCII
            raise Refused(_("content_base64 is not base64.")) from exc
        if len(data) > MOST_BYTES:
            raise Refused(_("A memory file has at most 5 MB."))
        return data


class RollbackIn(_RollbackBody, _Choice):
    pass


class HandoverIn(Body, _Choice):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*$")
    put_back: bool = Field(False, strict=True, description=PUT_BACK)

    def build_request(self, by: str) -> RollbackRequest:
        return RollbackRequest(by, self.reason)


class SessionRollbackIn(_RollbackBody):
    seen: dict[str, str] = Field(description="`hashes` of the preview", max_length=5)
    leave_out: list[str] = Field(
        [], max_length=MOST_WRITES, description="`unknown` of the preview: writes to leave out"
    )
    since: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: writes at or after this time")
    until: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: writes before this time")


class HandoverOfferOut(Schema):
    is_needed: bool = Field(description="false: a write of this site leaves the file in the prompt")
    puts_back: bool = Field(description="the file is not what OpenClaw's record names: that version is put back first")
    problem: str = Field(description="why nothing can be handed to the agent; empty: it can be")


class ConflictOut(Schema):
    hunk: int = Field(description="the change of the write, counted from 0")
    before: list[str] = Field(description="lines before the write")
    after: list[str] = Field(description="lines after it")
    current: list[str] = Field(description="lines now")


class RollbackPlanOut(Schema):
    audit_id: str
    file: str
    now_hash: str = Field(description="sha256 of what the file holds; empty: there is no file")
    seen: str = Field(description="for the rollback: what tells this preview from one of another change")
    has_changed: bool = Field(description="whether somebody changed the file since the write")
    way: str = Field(description="exact: the version before it comes back; merged: only its lines are taken out")
    hunk: int | None
    conflicts: list[ConflictOut]
    patch: str = Field(description="unified diff of what would change; empty when nothing would, or it is too long")
    problem: str = Field(description="why this site does not write it; empty: it does")
    effect: Effect = Field(description=EFFECT)
    effect_sentence: str = Field(description="the same in words; empty: the file does not change")
    handover: HandoverOfferOut


class SessionRollbackPlanOut(Schema):
    session_id: str
    hashes: dict[str, str] = Field(description="for each file, what tells this preview from one of another change")
    audit_ids: list[str] = Field(description="writes in the order in which they are rolled back")
    conflicts: list[str] = Field(description="those that need a person")
    unknown: list[str] = Field(description="writes before which nobody knows what the file held: left out by choice")
    patch: str
    problem: str
    effect: Effect = Field(description=EFFECT)
    effect_sentence: str


class RolledBackOut(Schema):
    audit_id: str
    rollbackId: str = Field(description="id of the rollback; of a single change none is kept under it")
    success: bool
    restoredTo: int | Literal["removed", "chosen", "merged"] = Field(
        description="when the version was made that is back, in milliseconds; else `removed`: there is no file now, "
        "`chosen`: the file holds what a person chose, `merged`: only the lines of the write were taken out"
    )
    own_audit_id: str = Field(
        description="the rollback as a write, also of a single change: rolled back, it is done again"
    )
    meanwhile: list[str] = Field(description="versions that somebody wrote while the file was exchanged")


class SessionRolledBackOut(Schema):
    rollbacks: list[RolledBackOut]


router = Operations("guardian_rollbacks_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/writes/{audit_id}/rollback", RollbackPlanOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_rollback_preview(request, agent, audit_id: str, query: Query[RollbackQuery]):
    """Preview what rolling back a write would change in the file as it is now.

    The preview writes no file.
    """
    return preview_to_json(
        rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit_id, hunk=query.hunk))
    )


@router.post("/agents/{agent}/guardian/writes/{audit_id}/rollback", RolledBackOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_rollback(request, agent, audit_id: str, body: RollbackIn):
    """Roll back a write as it was previewed.

    Takes five seconds: the displaced file is watched for late writers.
    """
    rollback_request = body.build_request(request.user.username)
    result = service.roll_back(agent, audit_id, rollback_request, seen=body.seen, hunk=body.hunk, chosen=body.chosen)
    return result_to_json(result)


@router.post("/agents/{agent}/guardian/writes/{audit_id}/handover", {202: HandoverStarted}, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_rollback_hand_over(request, agent, audit_id: str, body: HandoverIn):
    """Have the agent roll back a write itself; returns the job.

    The model of the agent reads the change.
    """
    options = {"seen": body.seen, "hunk": body.hunk, "chosen": body.chosen, "puts_back": body.put_back}
    row = handovers.hand_over_rollback(agent, audit_id, body.build_request(request.user.username), **options)
    return Status(202, handovers.start(agent, row))


@router.get("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRollbackPlanOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_session_rollback_preview(request, agent, session_id: str, query: Query[SessionRollbackQuery]):
    """Preview what rolling back all writes of a session would change.

    `session_id` is the session's id or its key. The preview writes no file.
    """
    return session_preview_to_json(agent, session_id, query.since, query.until)


@router.post("/agents/{agent}/guardian/sessions/{session_id}/rollback", SessionRolledBackOut, 400, 404, 409, 503)
@agent_view_for("operator")
def guardian_session_rollback(request, agent, session_id: str, body: SessionRollbackIn):
    """Roll back all writes of a session, the last one first: all of them, or none."""
    span = {"since": body.since, "until": body.until}
    rollback_request = body.build_request(request.user.username)
    results = service.roll_back_session(
        agent, session_id, rollback_request, seen=body.seen, leave_out=body.leave_out, **span
    )
    return {"rollbacks": [result_to_json(result) for result in results]}


def preview_to_json(preview: rollback_preview.RollbackPreview) -> dict:
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
    preview = rollback_plan.plan_session(agent, session_id, since=since, until=until)
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
