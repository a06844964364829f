"""The job that runs the built-in guardian over facts of one agent.

It can be interrupted anywhere; another run continues.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents import services as agents
from agents.models import Agent
from agents.runners import launch
from agents.runners.batch import Batch, build_message, check_answered
from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener, Progress
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from ..models import GuardianRun
from ..rollbacks import workspace_access
from . import fact_handler, fact_selection
from .fact_selection import FactChoice
from .llm import config
from .llm.config import RUNNER, Guardian

State = GuardianRun.State
WORDS = {
    "handled": ngettext_lazy("%(count)s fact handled.", "%(count)s facts handled.", "number"),
    "proposed": ngettext_lazy("%(count)s proposal waits for review.", "%(count)s proposals wait for review.", "number"),
    "written": ngettext_lazy("%(count)s change was written.", "%(count)s changes were written.", "number"),
    "refused": ngettext_lazy("%(count)s fact was refused.", "%(count)s facts were refused.", "number"),
    "failed": ngettext_lazy("%(count)s answer was useless.", "%(count)s answers were useless.", "number"),
    "unanswered": ngettext_lazy("%(count)s fact was not answered.", "%(count)s facts were not answered.", "number"),
    "withheld": ngettext_lazy("%(count)s fact was withheld.", "%(count)s facts were withheld.", "number"),
}
ENDS = ("proposed", "written", "refused", "skipped", "failed", "declined")


def start_run(agent: Agent, choice: FactChoice, *, by: str) -> JobRun:
    """Queue a run over the chosen facts.

    Raises Refused when nothing may be sent, or a run of this agent is queued or running already.
    """
    check(agent)
    with launch.exclusive_start(RUNNER, agent):
        return jobs.start(RUNNER.kind, choice.to_params(agent) | {"by": by}, by=by)


def end_interrupted(agent: Agent) -> None:
    """Mark runs as stopped whose process or job is gone.

    The caller holds off other runs.
    """
    queued = [job.params["run"] for job in launch.find_active_jobs(RUNNER, agent) if "run" in job.params]
    fact_handler.stop_interrupted(agent.db, queued)


def run_here(agent: Agent, params: dict[str, Any], *, by: str, listener: Listener | None = None) -> JobRun:
    """Run in this process with these params and return the job, however it ended."""
    check(agent)
    return launch.run_here(RUNNER, agent, params | {"by": by}, by=by, listener=listener)


def check(agent: Agent) -> Guardian:
    """Return the configured guardian.

    Raises Refused when nothing may be sent, or nobody knows where the files are.
    """
    RUNNER.check()
    workspace_access.get_workspace(agent)
    return config.get_configured_guardian()


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job and return its result.

    Raises Refused when nothing may be sent, another process works on this agent, or no model answered.
    """
    agent = agents.get(params["agent"])
    try:
        with launch.exclusive_run(RUNNER, agent.agent_id):
            batch = _run_batch(agent, params, progress)
    except Refused as refused:
        fact_handler.stop_queued(agent.db, params.get("run", ""), refused.sentence)
        raise
    result = summary(agent, batch, params["before_at"], params.get("run"))
    check_answered(result, result["handled"])
    return result


def _run_batch(agent, params, progress) -> Batch:
    guardian = check(agent)
    end_interrupted(agent)
    if run_id := params.get("run"):
        runs = list(GuardianRun.objects.using(agent.db).filter(id=run_id, state__in=(State.QUEUED, State.STOPPED)))
        batch = Batch(RUNNER, guardian, progress, len(runs))
        batch.run(runs, build_fact_handler(agent, guardian, batch))
    else:
        selection = fact_selection.select_facts(agent, FactChoice.from_params(params))
        batch = Batch(RUNNER, guardian, progress, len(selection.decisions), withheld=selection.withheld)
        open_runs = build_runs(agent.db, selection.decisions, by=params.get("by", ""))
        batch.run(open_runs, build_fact_handler(agent, guardian, batch))
    return batch


def build_fact_handler(
    agent: Agent, guardian: Guardian, batch: Batch, *, is_unattended: bool = False
) -> Callable[[GuardianRun], bool]:
    """Return a function that handles one fact and returns whether it is withheld."""

    def is_withheld(run):
        return fact_handler.handle_fact(agent, guardian, run, wait=batch.wait, is_unattended=is_unattended) is None

    return is_withheld


def undo(params: dict[str, Any]) -> None:
    """Stop the waiting facts of a job that was canceled or stopped; proposals stay."""
    with suppress(databases.UnusableAgent):
        db = databases.get_alias(params.get("agent", ""))
        if "run" in params:
            fact_handler.stop_queued(db, params["run"], _("The job ended before the model was asked."))
        with locks.lock(RUNNER.lock_name(params["agent"]), wait=False) as is_ours:
            if is_ours:
                fact_handler.stop_running(db)


def build_runs(db, decisions, *, by: str) -> Iterable[GuardianRun]:
    """Yield runs for the facts of decisions that nobody has acted on yet.

    This is checked for each decision only when its turn comes.
    """
    for decision in decisions:
        if fact_selection.is_open(db, decision):
            yield fact_handler.build_run(decision, by=by)


def summary(agent: Agent, batch: Batch, since: int, run_id: str | None = None) -> dict[str, Any]:
    """Count what became of the facts of a run, as JSON values.

    Facts since `since` (ms) count, so that earlier attempts of this run are included.
    """
    runs = GuardianRun.objects.using(agent.db)
    runs = runs.filter(id=run_id) if run_id else runs.filter(created_at__gte=since, retry_of=None)
    counts = dict(runs.values_list("state").annotate(number=Count("id")).order_by())
    ends = {name: counts.get(name, 0) for name in ENDS}
    result = {
        "agent": agent.agent_id,
        "facts": batch.total,
        **batch.result(),
        "handled": sum(ends.values()),
        **ends,
    }
    return {"message": build_message(WORDS, result), **result}


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in guardian"),
    audit_text=gettext_lazy("started the built-in guardian"),
    cancel_text=gettext_lazy("Proposals so far are kept; facts without one can be handled by another run."),
    describe_result=lambda result: str(result["message"]),
    page=RUNNER.page,
    page_params=("agent",),
    undo=undo,
    ends_with_terminal=True,
)
