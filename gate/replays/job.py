"""The job of a replay.

It can be stopped at any moment, and continues with the decisions that wait when it is run again.
"""

from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents import services as agents
from agents.runners import launch
from agents.runners.batch import Batch, build_message, check_answered
from jobs.kinds import Kind
from jobs.progress import Progress
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.errors import Refused

from ..models import GatePrompt, GateReplay, GateReplayDecision
from ..runner import config
from ..runner.config import Gate
from ..runner.prompts import Prompt
from ..runner.turn_decision import DecisionOutcome
from . import decision_replay
from .replay_launch import RUNNER

Outcome, State = GateReplayDecision.Outcome, GateReplay.State
WORDS = {
    "decided": ngettext_lazy("%(count)s decision replayed.", "%(count)s decisions replayed.", "number"),
    "different": ngettext_lazy("%(count)s is different.", "%(count)s are different.", "number"),
    "malformed": ngettext_lazy("%(count)s answer was no decision.", "%(count)s answers were no decisions.", "number"),
    "withheld": ngettext_lazy("%(count)s decision was withheld.", "%(count)s decisions were withheld.", "number"),
    "left": ngettext_lazy("%(count)s decision was not replayed.", "%(count)s decisions were not replayed.", "number"),
}


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job.

    Raises Refused when nothing may be sent, another replay of the agent runs, or no call was answered.
    """
    agent = agents.get(params["agent"])
    replay = GateReplay.objects.using(agent.db).filter(id=params["replay"]).first()
    if replay is None:
        raise Refused(_("There is no replay %(name)s.") % {"name": params["replay"]})
    with launch.exclusive_run(RUNNER, agent.agent_id):
        gate = _build_gate(agent.db, replay)
        rows = GateReplayDecision.objects.using(agent.db).filter(replay=replay)
        waiting = list(rows.filter(outcome=Outcome.WAITING).order_by("number").values_list("decision_id", flat=True))
        batch = Batch(RUNNER, gate, progress, replay.total, done=replay.total - len(waiting))
        _set_state(replay, State.RUNNING)
        batch.run(waiting, lambda decision_id: _replay_is_withheld(agent.db, gate, replay, decision_id, batch))
        # The result of a replay, earlier runs included, as JSON-able values.
        outcome_counts = count_outcomes(agent.db, replay.id)
        replay.refresh_from_db()
        result = {
            "agent": agent.agent_id,
            "replay": replay.id,
            "prompt_version": replay.prompt_version,
            "decisions": replay.total,
            "skipped": replay.skipped,
            **batch.result(),
            **{
                str(name): outcome_counts[name]
                for name in (Outcome.DECIDED, Outcome.MALFORMED, Outcome.WITHHELD, Outcome.LOST)
            },
            "agreed": replay.agreed,
            "left": outcome_counts[Outcome.WAITING],
        }
        different = result["decided"] - result["agreed"]
        result = {"message": build_message(WORDS, {**result, "different": different}), **result}
        _set_state(replay, State.STOPPED if result["left"] else State.FINISHED)
    check_answered(result, result["decided"])
    return result


def _replay_is_withheld(db, gate, replay, decision_id, batch):
    return (
        decision_replay.replay_decision(db, gate, replay.id, decision_id, wait=batch.wait) == DecisionOutcome.WITHHELD
    )


def stop(params: dict[str, Any]) -> None:
    """Mark a replay whose job was canceled as stopped.

    Replayed decisions are kept.
    """
    if db := databases.find_alias(params.get("agent", "")):
        GateReplay.objects.using(db).filter(id=params.get("replay"), state=State.RUNNING).update(state=State.STOPPED)


def _build_gate(db, replay) -> Gate:
    """Return the gate of a replay.

    Raises Refused when nothing may be sent, or the prompt was removed.
    """
    prompt = GatePrompt.objects.using(db).filter(id=replay.prompt_version).first()
    problem = RUNNER.problem_of(replay.llm_model)
    if prompt is None and not problem:
        problem = _("The prompt of this replay is not stored any more. Start another replay.")
    if problem or prompt is None:
        _set_state(replay, State.STOPPED)
        raise Refused(problem)
    return config.build_gate(replay.llm_model, Prompt(prompt.text))


def _set_state(replay, state):
    GateReplay.objects.using(replay._state.db).filter(id=replay.id).update(state=state)


def count_outcomes(db: str, replay_id: str) -> dict[str, int]:
    """Return how many decisions of a replay have each outcome."""
    rows = GateReplayDecision.objects.using(db).filter(replay_id=replay_id).values_list("outcome")
    return dict.fromkeys(map(str, Outcome), 0) | dict(rows.annotate(number=Count("outcome")).order_by())


JOB = Kind(
    run=run,
    label=gettext_lazy("Replay of decisions"),
    audit_text=gettext_lazy("started a replay of decisions"),
    cancel_text=gettext_lazy("Decisions already replayed are kept; the replay can be continued on its page."),
    page=RUNNER.page,
    page_params=("agent", "replay"),
    undo=stop,
    ends_with_terminal=True,
)
