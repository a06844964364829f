"""Replays as they begin: the decisions that they are about are fixed then, and a job makes them again."""

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


def start_replay(agent: Agent, wanted: ReplayRequest, *, by: str) -> tuple[GateReplay, JobRun]:
    """Keep what a replay is about, and queue its job. Raises Refused when nothing may be sent, or there is nothing."""
    replay = _keep(agent, wanted, by)
    return replay, _queue(agent, replay, by)


def run_here(
    agent: Agent, wanted: ReplayRequest, *, by: str, listener: Listener | None = None
) -> tuple[GateReplay, JobRun]:
    """The same in this process; the job, however it ended."""
    replay = _keep(agent, wanted, by)
    job = launch.run_here(RUNNER, agent, _params(agent, replay.id), by=by, listener=listener)
    GateReplay.objects.using(agent.db).filter(id=replay.id).update(job_id=job.id)
    replay.refresh_from_db()
    return replay, job


def continue_replay(agent: Agent, replay: GateReplay, *, by: str) -> JobRun:
    """Queue a job for the decisions of a replay that wait. Raises Refused when none does."""
    _check(agent, replay.llm_model)
    waiting = GateReplayDecision.objects.using(agent.db).filter(
        replay=replay, outcome=GateReplayDecision.Outcome.WAITING
    )
    if not waiting.exists():
        raise Refused(_("This replay has replayed all of its decisions."))
    return _queue(agent, replay, by)


def _keep(agent, wanted, by):
    gate, db = wanted.gate, agent.db
    _check(agent, gate.model)
    chosen = decision_selection.select_decisions(agent, wanted)
    if not chosen.rows:
        raise Refused(_("None of these decisions can be replayed: what the gate saw is not stored, or is withheld."))
    replay = GateReplay(
        id=str(ULID()),
        llm_model=gate.model,
        prompt_version=gate.prompt.version,
        chosen=wanted.chosen,
        total=len(chosen.rows),
        skipped=chosen.skipped,
        started_by=by,
        created_at=clock.now_ms(),
    )
    rows = [
        GateReplayDecision(replay_id=replay.id, decision_id=row.id, number=number, original=row.decision)
        for number, row in enumerate(chosen.rows, 1)
    ]
    with write_queue.agent_transaction(db):
        prompts.store_prompt(db, gate.prompt)
        replay.save(using=db, force_insert=True)
        GateReplayDecision.objects.using(db).bulk_create(rows, batch_size=500)
    return replay


def _check(agent, model):
    if not model:
        raise Refused(_("Name the model that is to decide."))
    if problem := RUNNER.problem_of(model):
        raise Refused(problem)
    jobs.recover()  # a replay whose process is gone holds up no other
    launch.check_no_active_job(RUNNER, agent)


def _queue(agent, replay, by):
    job = jobs.start(RUNNER.kind, _params(agent, replay.id), by=by)
    replay.job_id, replay.state = job.id, State.RUNNING
    replay.save(using=agent.db, update_fields=["job_id", "state"])
    return job


def _params(agent, replay_id):
    return {"agent": agent.agent_id, "replay": replay_id}
