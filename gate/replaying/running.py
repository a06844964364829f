"""The job of a replay: it can be broken off anywhere, and goes on with the decisions that wait when it is run again."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.models import Agent
from jobs.kinds import Kind
from jobs.progress import Progress
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import joined

from ..deciding import gates
from ..deciding.gates import Gate
from ..deciding.judging import Ended
from ..deciding.prompts import Prompt
from ..deciding.running import Walk
from ..models import GatePrompt, GateReplay, GateReplayDecision
from . import again
from .starting import is_running

Outcome, State = GateReplayDecision.Outcome, GateReplay.State


@dataclass(slots=True, kw_only=True)
class ReplayWalk(Walk):
    """The decisions of a replay on their way to the model. `before`: how many had ended when it began."""

    replay_id: str
    before: int

    def _judge(self, turn_id: str) -> Ended:
        return again.decide(self.db, self.gate, self.replay_id, turn_id, wait=self._wait)

    def _tell(self) -> None:
        words = {"model": self.gate.model, "host": self.gate.endpoint.host}
        whole = self.before + len(self.ids)
        self.progress.update(self.before + self.done, whole, _("Asking %(model)s at %(host)s") % words)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, another replay of the agent runs, or nobody answered."""
    agent, replay = _found(params)
    with locks.only_one(f"gate-replay-{agent.agent_id}.lock", is_running(agent.agent_id)):
        gate = _gate(agent.db, replay)
        rows = GateReplayDecision.objects.using(agent.db).filter(replay=replay)
        waiting = list(rows.filter(outcome=Outcome.WAITING).order_by("number").values_list("decision_id", flat=True))
        before = replay.total - len(waiting)
        walk = ReplayWalk(agent.db, gate, waiting, progress, replay_id=replay.id, before=before)
        _set(replay, State.RUNNING)
        walk.go()
        result = _told(agent, replay, walk)
        _set(replay, State.STOPPED if result["left"] else State.FINISHED)
    if (walk.stopped or walk.failure) and not result["decided"]:
        raise Refused(result["message"])
    return result


def stop(params: dict[str, Any]) -> None:
    """Say of a replay whose job was cancelled that it has stopped; what was decided stays."""
    try:
        db = databases.alias(params["agent"])
    except (databases.UnknownAgent, databases.OldAgentFile):
        return
    GateReplay.objects.using(db).filter(id=params["replay"], state=State.RUNNING).update(state=State.STOPPED)


def _found(params):
    agent = Agent.objects.filter(agent_id=params["agent"]).first()
    if agent is None:
        raise Refused(_("There is no agent %(agent)s.") % {"agent": params["agent"]})
    replay = GateReplay.objects.using(agent.db).filter(id=params["replay"]).first()
    if replay is None:
        raise Refused(_("There is no replay %(name)s.") % {"name": params["replay"]})
    return agent, replay


def _gate(db, replay) -> Gate:
    """Who decides again. Raises Refused when nothing may be sent, or its prompt is not there any more."""
    prompt = GatePrompt.objects.using(db).filter(id=replay.prompt_version).first()
    problem = gates.problem_of(replay.llm_model)
    if prompt is None and not problem:
        problem = _("The prompt of this replay is not stored any more. Start another replay.")
    if problem or prompt is None:
        _set(replay, State.STOPPED)
        raise Refused(problem)
    return gates.other(replay.llm_model, Prompt(prompt.text))


def _set(replay, state):
    GateReplay.objects.using(replay._state.db).filter(id=replay.id).update(state=state)


def counts(db: str, replay_id: str) -> dict[str, int]:
    """How many decisions of a replay ended how, by every outcome there is."""
    rows = GateReplayDecision.objects.using(db).filter(replay_id=replay_id).values_list("outcome")
    return dict.fromkeys(map(str, Outcome), 0) | dict(rows.annotate(number=Count("outcome")).order_by())


def _told(agent, replay, walk):
    """What became of the decisions, runs before this one included, as JSON-able values."""
    found = counts(agent.db, replay.id)
    replay.refresh_from_db()
    result = {
        "agent": agent.agent_id,
        "replay": replay.id,
        "host": walk.gate.endpoint.host,
        "model": replay.llm_model,
        "prompt_version": replay.prompt_version,
        "decisions": replay.total,
        "skipped": replay.skipped,
        **{str(name): found[name] for name in (Outcome.DECIDED, Outcome.MALFORMED, Outcome.WITHHELD, Outcome.LOST)},
        "agreed": replay.agreed,
        "left": found[Outcome.WAITING],
        "unanswered": walk.unanswered,
        "failure": walk.failure,
        "stopped": walk.stopped,
    }
    return {"message": _sentence(result), **result}


def _sentence(result):
    decided = ngettext("%(count)s decision replayed.", "%(count)s decisions replayed.", result["decided"])
    parts = [decided % _shown(result["decided"])]
    if different := result["decided"] - result["agreed"]:
        parts.append(ngettext("%(count)s is different.", "%(count)s are different.", different) % _shown(different))
    if malformed := result["malformed"]:
        words = ngettext("%(count)s answer was no decision.", "%(count)s answers were no decisions.", malformed)
        parts.append(words % _shown(malformed))
    if withheld := result["withheld"]:
        words = ngettext("%(count)s decision was withheld.", "%(count)s decisions were withheld.", withheld)
        parts.append(words % _shown(withheld))
    if left := result["left"]:
        words = ngettext("%(count)s decision was not replayed.", "%(count)s decisions were not replayed.", left)
        parts.append(words % _shown(left))
    parts.append(result["stopped"] or result["failure"])
    return joined(filter(None, parts))


def _shown(count):
    return {"count": f"{count:,}"}


JOB = Kind(
    run=run,
    label=gettext_lazy("Replay of decisions"),
    started=gettext_lazy("started a replay of decisions"),
    kept=gettext_lazy("Decisions already replayed are kept; the replay can be continued on its page."),
    done=lambda result: str(result["message"]),
    page="gate:replay_detail",
    page_params=("agent", "replay"),
    undo=stop,
    ends_with_terminal=True,
)
