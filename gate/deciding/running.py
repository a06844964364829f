"""Runs of our own gate over turns of one agent: a job that can be broken off anywhere, and goes on when run again."""

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

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

from . import choosing, gates, judging, tallies
from .allowance import LimitReached
from .choosing import Asked
from .gates import Gate
from .judging import Ended

KIND = "gate"
NAMED = ("session", "since", "until", "limit", "is_again", "before_at")  # fields of Asked that a job has
MOST_FAILURES = 3  # turns in a row without an answer end a run
PAUSE = 0.2  # seconds between two looks at whether somebody cancelled


@dataclass(slots=True)
class Walk:
    """One agent's turns on their way to the model.

    `stopped` says why some of them were not judged, `failure` what the last call without an answer failed of.
    """

    db: str
    gate: Gate
    ids: list[str]
    progress: Progress
    known: Collection[str] = ()  # of `ids`, those that were answered without a decision before
    most_failures: int = MOST_FAILURES  # turns in a row without an answer
    done: int = 0
    withheld: int = 0
    unanswered: int = 0
    failure: str = ""
    stopped: str = ""

    def go(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Judge one turn after the other, until the last, or a reason to stop."""
        in_a_row = 0
        for turn_id in self.ids:
            self._tell()
            if not may_go_on():
                return
            try:
                if turn_id not in self.known:
                    self.withheld += self._judge(turn_id) == Ended.WITHHELD
                in_a_row = 0
            except LimitReached as reached:
                self.stopped = reached.sentence
                return
            except CallFailed as failed:
                in_a_row, self.unanswered, self.failure = in_a_row + 1, self.unanswered + 1, failed.sentence
                if in_a_row >= self.most_failures:
                    self.stopped = _gave_up(failed.sentence, in_a_row)
                    return
            self.done += 1
        self._tell()

    def _judge(self, turn_id: str) -> Ended:
        return judging.judge(self.db, self.gate, turn_id, wait=self._wait)

    def _tell(self):
        words = {"model": self.gate.model, "host": self.gate.endpoint.host}
        self.progress.update(self.done, len(self.ids), _("Asking %(model)s at %(host)s") % words)

    def _wait(self, seconds):
        """Let time pass between two attempts; whoever cancels need not wait for its end."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            self._tell()
            time.sleep(min(PAUSE, left))


def start(agent: Agent, asked: Asked, *, by: str) -> JobRun:
    """Queue a run. Raises Refused when nothing may be sent, or a run of this agent is queued or running already."""
    gates.in_force()
    jobs.recover()  # a run whose process is gone holds up no other
    with transaction.atomic():
        for job in JobRun.objects.filter(kind=KIND, state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING)):
            if orjson.loads(job.params_json)["agent"] == agent.agent_id:
                raise Refused(_is_running(agent.agent_id), reasons=[{"id": job.id, "reason": job.message}])
        return jobs.start(KIND, _params(agent, asked), by=by)


def run_here(agent: Agent, asked: Asked, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process; the job, however it ended."""
    gates.in_force()
    names = {"object_id": agent.agent_id, "agent_id": agent.agent_id}
    audit.record(by, f"{KIND}_started", object_type="agent", **names)  # a job that nobody queued has no entry
    return jobs.run_now(KIND, _params(agent, asked), by=by, listener=listener)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, another process is at this agent, or nobody answered."""
    agent = Agent.objects.filter(agent_id=params["agent"]).first()
    if agent is None:
        raise Refused(_("There is no agent %(agent)s.") % {"agent": params["agent"]})
    asked, since = Asked(**{name: params[name] for name in NAMED if name in params}), params["before_at"]
    with only_one(agent.agent_id):
        gate = gates.in_force()
        chosen = choosing.choose(agent.db, asked, gate.model, gate.prompt.version)
        walk = Walk(agent.db, gate, chosen.ids, progress, tallies.malformed(agent.db, since), withheld=chosen.withheld)
        walk.go()
    result = told(agent, walk, since)
    if (walk.stopped or walk.failure) and not result["decided"]:
        raise Refused(result["message"])
    return result


def only_one(agent_id: str) -> AbstractContextManager[None]:
    """Hold off other runs of an agent's gate. Raises Refused while there is one."""
    return locks.only_one(lock_of(agent_id), _is_running(agent_id))


def lock_of(agent_id: str) -> str:
    """The file that a run of an agent's gate holds."""
    return f"gate-{agent_id}.lock"


def told(agent: Agent, walk: Walk, since: int) -> dict[str, Any]:
    """What became of the turns of a run since its start, attempts before this one included, as JSON-able values."""
    result = {
        "agent": agent.agent_id,
        "host": walk.gate.endpoint.host,
        "model": walk.gate.model,
        "prompt_version": walk.gate.prompt.version,
        "turns": len(walk.ids),
        "left": len(walk.ids) - walk.done,
        "withheld": walk.withheld,
        "unanswered": walk.unanswered,
        "failure": walk.failure,
        "stopped": walk.stopped,
        **tallies.of_turns(agent.db, walk.ids, since),
    }
    return {"message": _sentence(result), **result}


def _params(agent, asked):
    given = {name: value for name, value in asdict(asked).items() if name in NAMED and value not in (None, False)}
    return {"agent": agent.agent_id, **given, "before_at": clock.now_ms()}


def _is_running(agent_id):
    return _("The gate of %(agent)s is running. Wait until that run has ended.") % {"agent": agent_id}


def _gave_up(sentence, count):
    words = ngettext(
        "Stopped after %(count)s turn without an answer.",
        "Stopped after %(count)s turns in a row without an answer.",
        count,
    )
    return f"{words % _shown(count)} {sentence}"


def _sentence(result):
    parts = [
        ngettext("%(count)s turn judged.", "%(count)s turns judged.", result["decided"]) % _shown(result["decided"])
    ]
    if malformed := result["malformed"]:
        words = ngettext("%(count)s answer was no decision.", "%(count)s answers were no decisions.", malformed)
        parts.append(words % _shown(malformed))
    if unanswered := result["unanswered"]:
        words = ngettext("%(count)s turn was not answered.", "%(count)s turns were not answered.", unanswered)
        parts.append(words % _shown(unanswered))
    if withheld := result["withheld"]:
        words = ngettext("%(count)s turn was withheld.", "%(count)s turns were withheld.", withheld)
        parts.append(words % _shown(withheld))
    parts.append(result["stopped"] or result["failure"])
    return joined(filter(None, parts))


def _shown(count):
    return {"count": f"{count:,}"}


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in gate"),
    started=gettext_lazy("started the built-in gate"),
    kept=gettext_lazy("Decisions so far are kept; turns without one can be judged by another run."),
    done=lambda result: str(result["message"]),
    page="gate:own_gate",
    page_params=("agent",),
    ends_with_terminal=True,
)
