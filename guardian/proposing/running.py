"""Runs of our own guardian over facts of one agent: a job that can be broken off anywhere, and goes on again."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.models import Agent
from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener, Progress
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.llm.client import CallFailed
from openclaw_web.pages.formatting import joined
from people.audit import log as audit

from ..models import GuardianRun
from ..rollbacks import places
from . import facts, settling
from .asking import guardians
from .asking.guardians import Guardian
from .asking.steps import LimitReached
from .facts import Asked

KIND = "guardian"
NAMED = ("session", "since", "until", "limit", "before_at")  # fields of Asked that a job has
MOST_FAILURES = 3  # facts in a row without an answer end a run
PAUSE = 0.2  # seconds between two looks at whether somebody cancelled
State = GuardianRun.State


@dataclass(slots=True)
class Walk:
    """Facts of one agent on their way to the model.

    `stopped` says why some were not handled, `failure` what the last call without an answer failed of.
    """

    agent: Agent
    guardian: Guardian
    progress: Progress
    total: int
    is_unattended: bool = False
    most_failures: int = MOST_FAILURES  # facts in a row without an answer
    done: int = 0
    withheld: int = 0
    unanswered: int = 0
    failure: str = ""
    stopped: str = ""

    def go(self, runs: Iterable[GuardianRun], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Handle one fact after the other, until the last, or a reason to stop."""
        in_a_row = 0
        for run in runs:
            self._tell()
            if not may_go_on():
                return
            try:
                self.withheld += self._handle(run) is None
                in_a_row = 0
            except LimitReached as reached:
                self.stopped = reached.sentence
                return
            except (Refused, CallFailed) as failed:
                in_a_row, self.unanswered, self.failure = in_a_row + 1, self.unanswered + 1, failed.sentence
                if in_a_row >= self.most_failures:
                    self.stopped = _gave_up(failed.sentence, in_a_row)
                    return
            self.done += 1
        self._tell()

    def _handle(self, run):
        return settling.handle(self.agent, self.guardian, run, wait=self._wait, is_unattended=self.is_unattended)

    def _tell(self):
        words = {"model": self.guardian.model, "host": self.guardian.endpoint.host}
        self.progress.update(self.done, self.total, _("Asking %(model)s at %(host)s") % words)

    def _wait(self, seconds):
        """Let time pass between two attempts; whoever cancels need not wait for its end."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            self._tell()
            time.sleep(min(PAUSE, left))


def start(agent: Agent, asked: Asked, *, by: str) -> JobRun:
    """Queue a run. Raises Refused when nothing may be sent, or a run of this agent is queued or running already."""
    check(agent)
    jobs.recover()  # a run whose process is gone holds up no other
    with transaction.atomic():
        check_alone(agent)
        return jobs.start(KIND, params(agent, asked) | {"by": by}, by=by)


def check_alone(agent: Agent) -> None:
    """Raises Refused while a run of this agent is queued or running."""
    if under_way := _under_way(agent):
        job, _params = under_way[0]
        raise Refused(_is_running(agent.agent_id), reasons=[{"id": job.id, "reason": job.message}])


def end_interrupted(agent: Agent) -> None:
    """Say of runs whose process or job is gone that they stopped; the caller holds off other runs."""
    settling.interrupted(agent.db, [params["run"] for _job, params in _under_way(agent) if "run" in params])


def run_here(agent: Agent, params: dict[str, Any], *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process what `params`, or a retry, says; the job, however it ended."""
    check(agent)
    names = {"object_id": agent.agent_id, "agent_id": agent.agent_id}
    audit.record(by, f"{KIND}_started", object_type="agent", **names)  # a job that nobody queued has no entry
    return jobs.run_now(KIND, params | {"by": by}, by=by, listener=listener)


def params(agent: Agent, asked: Asked) -> dict[str, Any]:
    """What a job is told about a run."""
    given = {name: value for name, value in asdict(asked).items() if name in NAMED and value is not None}
    return {"agent": agent.agent_id, **given, "before_at": clock.now_ms()}


def check(agent: Agent) -> Guardian:
    """The guardian in force. Raises Refused when nothing may be sent, or nobody knows where the files are."""
    guardian = guardians.in_force()
    places.workspace_of(agent)
    return guardian


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, another process is at this agent, or nobody answered."""
    agent = Agent.objects.filter(agent_id=params["agent"]).first()
    if agent is None:
        raise Refused(_("There is no agent %(agent)s.") % {"agent": params["agent"]})
    try:
        with only_one(agent.agent_id):
            walk = _walked(agent, params, progress)
    except Refused as refused:
        settling.never_begun(agent.db, params.get("run", ""), refused.sentence)
        raise
    result = told(agent, walk, params["before_at"], params.get("run"))
    if (walk.stopped or walk.failure) and not result["handled"]:
        raise Refused(result["message"])
    return result


def _walked(agent, params, progress) -> Walk:
    guardian = check(agent)
    end_interrupted(agent)
    if run_id := params.get("run"):
        runs = list(GuardianRun.objects.using(agent.db).filter(id=run_id, state__in=(State.QUEUED, State.STOPPED)))
        walk = Walk(agent, guardian, progress, len(runs))
        walk.go(runs)
        return walk
    chosen = facts.choose(agent, Asked(**{name: params[name] for name in NAMED if name in params}))
    walk = Walk(agent, guardian, progress, len(chosen.decisions), withheld=chosen.withheld)
    walk.go(of_decisions(agent.db, chosen.decisions, by=params.get("by", "")))
    return walk


def undo(params: dict[str, Any]) -> None:
    """Facts wait no more when the job that was at them is cancelled or stopped; proposals stay."""
    with suppress(databases.UnknownAgent, databases.OldAgentFile):
        db = databases.alias(params["agent"])
        if "run" in params:
            settling.never_begun(db, params["run"], _("The job ended before the model was asked."))
        with locks.lock(lock_of(params["agent"]), wait=False) as is_ours:
            if is_ours:
                settling.died(db)


def of_decisions(db, decisions, *, by: str) -> Iterable[GuardianRun]:
    """The runs for the facts of decisions that nobody has acted on when their turn comes."""
    for decision in decisions:
        if facts.is_open(db, decision):
            yield settling.of_decision(decision, by=by)


def only_one(agent_id: str) -> AbstractContextManager[None]:
    """Hold off other runs of an agent's guardian. Raises Refused while there is one."""
    return locks.only_one(lock_of(agent_id), _is_running(agent_id))


def lock_of(agent_id: str) -> str:
    """The file that a run of an agent's guardian holds."""
    return f"guardian-{agent_id}.lock"


def told(agent: Agent, walk: Walk, since: int, run_id: str | None = None) -> dict[str, Any]:
    """What became of the facts of a run since its start, attempts before this one included, as JSON-able values."""
    runs = GuardianRun.objects.using(agent.db)
    runs = runs.filter(id=run_id) if run_id else runs.filter(created_at__gte=since, retry_of=None)
    counts = dict(runs.values_list("state").annotate(number=Count("id")).order_by())
    ends = {name: counts.get(name, 0) for name in ("proposed", "written", "refused", "skipped", "failed", "declined")}
    result = {
        "agent": agent.agent_id,
        "host": walk.guardian.endpoint.host,
        "model": walk.guardian.model,
        "facts": walk.total,
        "left": walk.total - walk.done,
        "withheld": walk.withheld,
        "unanswered": walk.unanswered,
        "failure": walk.failure,
        "stopped": walk.stopped,
        "handled": sum(ends.values()),
        **ends,
    }
    return {"message": _sentence(result), **result}


def _under_way(agent) -> list[tuple[JobRun, dict[str, Any]]]:
    """The jobs of an agent that are queued or running, with what they were told."""
    jobs_now = JobRun.objects.filter(kind=KIND, state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING)).defer("log")
    told_of = [(job, orjson.loads(job.params_json)) for job in jobs_now.order_by("created_at", "id")]
    return [(job, params) for job, params in told_of if params["agent"] == agent.agent_id]


def _is_running(agent_id):
    return _("The guardian of %(agent)s is running. Wait until that run has ended.") % {"agent": agent_id}


def _gave_up(sentence, count):
    words = ngettext(
        "Stopped after %(count)s fact without an answer.",
        "Stopped after %(count)s facts in a row without an answer.",
        count,
    )
    return f"{words % {'count': f'{count:,}'}} {sentence}"


def _sentence(result):
    parts = [
        ngettext("%(count)s fact handled.", "%(count)s facts handled.", result["handled"]),
        ngettext("%(count)s proposal waits for review.", "%(count)s proposals wait for review.", result["proposed"]),
        ngettext("%(count)s change was written.", "%(count)s changes were written.", result["written"]),
        ngettext("%(count)s fact was refused.", "%(count)s facts were refused.", result["refused"]),
        ngettext("%(count)s answer was useless.", "%(count)s answers were useless.", result["failed"]),
        ngettext("%(count)s fact was not answered.", "%(count)s facts were not answered.", result["unanswered"]),
        ngettext("%(count)s fact was withheld.", "%(count)s facts were withheld.", result["withheld"]),
    ]
    names = ("handled", "proposed", "written", "refused", "failed", "unanswered", "withheld")
    said = [
        words % {"count": f"{result[name]:,}"}
        for name, words in zip(names, parts, strict=True)
        if result[name] or name == "handled"
    ]
    return joined(filter(None, [*said, result["stopped"] or result["failure"]]))


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in guardian"),
    started=gettext_lazy("started the built-in guardian"),
    kept=gettext_lazy("Proposals so far are kept; facts without one can be handled by another run."),
    done=lambda result: str(result["message"]),
    page="guardian:own_guardian",
    page_params=("agent",),
    undo=undo,
    ends_with_terminal=True,
)
