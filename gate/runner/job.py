"""Runs of our own gate over turns of one agent: a job that can be broken off anywhere, and goes on when run again."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.utils.translation import gettext_lazy

from agents import services as agents
from agents.models import Agent
from agents.runners import launch
from agents.runners.batch import Batch, build_message, check_answered
from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener, Progress
from openclaw_web.amounts import ngettext_lazy

from . import call_totals, config, turn_decision, turn_selection
from .config import RUNNER, Gate
from .turn_decision import DecisionOutcome
from .turn_selection import TurnChoice

WORDS = {
    "decided": ngettext_lazy("%(count)s turn judged.", "%(count)s turns judged.", "number"),
    "malformed": ngettext_lazy("%(count)s answer was no decision.", "%(count)s answers were no decisions.", "number"),
    "unanswered": ngettext_lazy("%(count)s turn was not answered.", "%(count)s turns were not answered.", "number"),
    "withheld": ngettext_lazy("%(count)s turn was withheld.", "%(count)s turns were withheld.", "number"),
}


def start_run(agent: Agent, asked: TurnChoice, *, by: str) -> JobRun:
    """Queue a run. Raises Refused when nothing may be sent, or a run of this agent is queued or running already."""
    RUNNER.check()
    with launch.exclusive_start(RUNNER, agent):
        return jobs.start(RUNNER.kind, asked.params(agent), by=by)


def run_here(agent: Agent, asked: TurnChoice, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process; the job, however it ended."""
    RUNNER.check()
    return launch.run_here(RUNNER, agent, asked.params(agent), by=by, listener=listener)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, another process is at this agent, or nobody answered."""
    agent, since = agents.get(params["agent"]), params["before_at"]
    with launch.exclusive_run(RUNNER, agent.agent_id):
        gate = config.get_active_gate()
        chosen = turn_selection.select_turns(agent.db, TurnChoice.from_params(params), gate.model, gate.prompt.version)
        batch = Batch(RUNNER, gate, progress, len(chosen.ids), withheld=chosen.withheld)
        batch.run(
            chosen.ids, build_turn_handler(agent.db, gate, batch, call_totals.find_malformed_turns(agent.db, since))
        )
    result = summary(agent, gate, batch, chosen.ids, since)
    check_answered(result, result["decided"])
    return result


def build_turn_handler(db: str, gate: Gate, batch: Batch, known: Collection[str] = ()) -> Callable[[str], bool]:
    """What judges one turn and says whether it is withheld; `known` were answered without a decision before."""

    def is_withheld(turn_id):
        return (
            turn_id not in known
            and turn_decision.decide_turn(db, gate, turn_id, wait=batch.wait) == DecisionOutcome.WITHHELD
        )

    return is_withheld


def summary(agent: Agent, gate: Gate, batch: Batch, turn_ids: Sequence[str], since: int) -> dict[str, Any]:
    """What became of the turns of a run since its start, attempts before this one included, as JSON-able values."""
    result = {
        "agent": agent.agent_id,
        "prompt_version": gate.prompt.version,
        "turns": batch.total,
        **batch.result(),
        **call_totals.sum_run_calls(agent.db, turn_ids, since),
    }
    return {"message": build_message(WORDS, result), **result}


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in gate"),
    started=gettext_lazy("started the built-in gate"),
    kept=gettext_lazy("Decisions so far are kept; turns without one can be judged by another run."),
    done=lambda result: str(result["message"]),
    page=RUNNER.page,
    page_params=("agent",),
    ends_with_terminal=True,
)
