"""API of replays: decisions made again by another model or prompt."""

from dataclasses import asdict

from django.shortcuts import get_object_or_404
from ninja import Query, Status

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.lists.paging import page_of

from ..models import GateReplay
from . import comparison, plans, replay_launch, replay_status, results
from .schemas import ReplayDetail, ReplayIn, ReplayOut, ReplayPlanOut, ReplayQuery, ReplayStartedOut

router = Operations("gate_replays_api", tags=["gate"])


@router.get("/agents/{agent}/gate/replays", Page[ReplayOut], 404, 409, 503)
@agent_view_for("viewer")
def gate_replay_list(request, agent, place: Query[ReplayQuery]):
    """Replays of an agent's decisions, newest first."""
    page = replay_status.read_replay_page(agent, **place.place)
    return page_to_json(page, [_build_replay_json(status) for status in replay_status.read_statuses(page)])


@router.post("/agents/{agent}/gate/replays", {200: ReplayPlanOut, 202: ReplayStartedOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def gate_replay_start(request, agent, body: ReplayIn):
    """Make decisions again by another model or prompt; returns the job.

    With `dry_run` it returns what would be sent. The words that the gate saw leave this machine.
    """
    if body.dry_run:
        return Status(200, plans.plan_replay(agent, body.replay_request).as_json())
    replay, job = replay_launch.start_replay(agent, body.replay_request, by=request.user.username)
    return Status(202, {"replay_id": replay.id, "job": job})


@router.get("/agents/{agent}/gate/replays/{replay_id}", ReplayDetail, 404, 409, 503)
@agent_view_for("viewer")
def gate_replay_detail(request, agent, replay_id: str, place: Query[ReplayQuery]):
    """One replay: agreement of both gates, use of time and tokens, and a page of differences."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    result, compared = results.read_result(agent.db, replay), comparison.compare_replay(agent.db, replay)
    page = page_of(results.find_disagreements(agent.db, replay.id), order=("number",), **place.place)
    pairs = [
        {"original": original, "replay": decision, "count": count}
        for (original, decision), count in sorted(result.matrix.items())
    ]
    return {
        "comparison": compared and compared.as_json(),
        **_build_replay_json(replay_status.read_statuses([replay])[0]),
        "outcomes": result.outcomes,
        "matrix": pairs,
        "original": _build_side_json(result.original),
        "replay": _build_side_json(result.replay),
        "calls": result.calls,
        "tokens": result.spent_tokens,
        "cost_usd": result.spent_usd,
        "items": page,
        "next": page.next,
        "previous": page.previous,
    }


@router.post("/agents/{agent}/gate/replays/{replay_id}/continue", {202: ReplayStartedOut}, 404, 409, 503)
@agent_view_for("operator")
def gate_replay_continue(request, agent, replay_id: str):
    """Continue a replay with the decisions that wait; returns the job."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    return Status(
        202, {"replay_id": replay.id, "job": replay_launch.continue_replay(agent, replay, by=request.user.username)}
    )


def _build_replay_json(status):
    replay = status.replay
    names = ("id", "llm_model", "prompt_version", "total", "skipped", "decided", "agreed", "started_by", "created_at")
    return {
        **{name: getattr(replay, name) for name in names},
        "state": status.state,
        "agreement": status.agreement,
        "chosen": replay.chosen,
        "job_id": replay.job_id,
    }


def _build_side_json(side):
    values = asdict(side)
    return {**values, "p50_ms": values["p50"], "p95_ms": values["p95"]}
