"""The job that runs our own gate over turns of an agent.

It can be stopped at any moment, and continues when it is run again.
"""

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

from ..statistics import sums
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


def start_run(agent: Agent, choice: TurnChoice, *, by: str) -> JobRun:
    """Queue a run.

    Raises Refused when nothing may be sent, or a run of this agent is queued or running already.
    """
    RUNNER.check()
    with launch.exclusive_start(RUNNER, agent):
        return jobs.start(RUNNER.kind, choice.to_params(agent), by=by)


def run_here(agent: Agent, choice: TurnChoice, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process, and return the job, however it ended."""
    RUNNER.check()
    return launch.run_here(RUNNER, agent, choice.to_params(agent), by=by, listener=listener)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job.

    Raises Refused when nothing may be sent, another process runs for this agent, or no call was answered.
    """
    agent, since = agents.get(params["agent"]), params["before_at"]
    with launch.exclusive_run(RUNNER, agent.agent_id):
        gate = config.get_active_gate()
        selection = turn_selection.select_turns(
            agent.db, TurnChoice.from_params(params), gate.model, gate.prompt.version
        )
        batch = Batch(RUNNER, gate, progress, len(selection.ids), withheld=selection.withheld)
        batch.run(
            selection.ids, build_turn_handler(agent.db, gate, batch, call_totals.find_malformed_turns(agent.db, since))
        )
    sums.ensure_complete(agent.db)
    result = summary(agent, gate, batch, selection.ids, since)
    check_answered(result, result["decided"])
    return result


def build_turn_handler(db: str, gate: Gate, batch: Batch, malformed_ids: Collection[str] = ()) -> Callable[[str], bool]:
    """Return a function that judges a turn and returns whether it is withheld.

    `known` are turns with an answer that was no decision: those are skipped.
    """

    def is_withheld(turn_id):
        return (
            turn_id not in malformed_ids
            and turn_decision.decide_turn(db, gate, turn_id, wait=batch.wait) == DecisionOutcome.WITHHELD
        )

    return is_withheld


def summary(agent: Agent, gate: Gate, batch: Batch, turn_ids: Sequence[str], since: int) -> dict[str, Any]:
    """Return the result of a run since its start, as JSON-able values.

    Earlier attempts of the run are included. `since` is in milliseconds.
    """
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
    label=gettext_lazy("This site's gate"),
    audit_text=gettext_lazy("started this site's gate"),
    cancel_text=gettext_lazy("Decisions so far are kept; turns without one can be judged by another run."),
    page=RUNNER.page,
    page_params=("agent",),
    ends_with_terminal=True,
)
