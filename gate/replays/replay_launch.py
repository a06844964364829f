"""Starts replays: their decisions are fixed at the start, and a job replays them."""

from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from agents.models import Agent
from agents.runners import launch
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue

from ..models import GateReplay, GateReplayDecision
from ..runner import config, prompts
from . import decision_selection
from .replay_request import ReplayRequest

RUNNER = replace(
    config.RUNNER,
    kind="gate_replay",
    page="gate:replay_detail",
    is_running=gettext_lazy("A replay of decisions of %(agent)s is running. Wait until it has ended."),
)
State = GateReplay.State


def start_replay(agent: Agent, request: ReplayRequest, *, by: str) -> tuple[GateReplay, JobRun]:
    """Store a replay and queue its job.

    Raises Refused when nothing may be sent, or no decision can be replayed.
    """
    replay = _store_replay(agent, request, by)
    return replay, _queue_job(agent, replay, by)


def run_here(
    agent: Agent, request: ReplayRequest, *, by: str, listener: Listener | None = None
) -> tuple[GateReplay, JobRun]:
    """Store a replay, run it in this process, and return its job, however it ended."""
    replay = _store_replay(agent, request, by)
    job = launch.run_here(RUNNER, agent, _build_params(agent, replay.id), by=by, listener=listener)
    GateReplay.objects.using(agent.db).filter(id=replay.id).update(job_id=job.id)
    replay.refresh_from_db()
    return replay, job


def continue_replay(agent: Agent, replay: GateReplay, *, by: str) -> JobRun:
    """Queue a job for the decisions of a replay that wait. Raises Refused when none does."""
    _check_may_start(agent, replay.llm_model)
    waiting = GateReplayDecision.objects.using(agent.db).filter(
        replay=replay, outcome=GateReplayDecision.Outcome.WAITING
    )
    if not waiting.exists():
        raise Refused(_("This replay has replayed all of its decisions."))
    return _queue_job(agent, replay, by)


def _store_replay(agent, request, by):
    gate, db = request.gate, agent.db
    _check_may_start(agent, gate.model)
    selection = decision_selection.select_decisions(agent, request)
    if not selection.rows:
        raise Refused(_("None of these decisions can be replayed: what the gate saw is not stored, or is withheld."))
    replay = GateReplay(
        id=str(ULID()),
        llm_model=gate.model,
        prompt_version=gate.prompt.version,
        chosen=request.chosen,
        total=len(selection.rows),
        skipped=selection.skipped,
        started_by=by,
        created_at=clock.now_ms(),
    )
    rows = [
        GateReplayDecision(replay_id=replay.id, decision_id=row.id, number=number, original=row.decision)
        for number, row in enumerate(selection.rows, 1)
    ]
    with write_queue.agent_transaction(db):
        prompts.store_prompt(db, gate.prompt)
        replay.save(using=db, force_insert=True)
        GateReplayDecision.objects.using(db).bulk_create(rows, batch_size=500)
    return replay


def _check_may_start(agent, model):
    if not model:
        raise Refused(_("Name the model that is to decide."))
    if problem := RUNNER.problem_of(model):
        raise Refused(problem)
    jobs.recover()  # a replay whose process has ended must not block another one
    launch.check_no_active_job(RUNNER, agent)


def _queue_job(agent, replay, by):
    job = jobs.start(RUNNER.kind, _build_params(agent, replay.id), by=by)
    replay.job_id, replay.state = job.id, State.RUNNING
    replay.save(using=agent.db, update_fields=["job_id", "state"])
    return job


def _build_params(agent, replay_id):
    return {"agent": agent.agent_id, "replay": replay_id}
