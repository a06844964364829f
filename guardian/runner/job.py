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
from agents.runners.auto_run import GIVE_UP_AFTER, AutoRun
from agents.runners.batch import Batch, build_message, check_answered
from jobs import services as jobs
from jobs.kinds import BY_SCHEDULE, Kind
from jobs.models import JobRun
from jobs.progress import Listener, Progress
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from ..models import GuardianRun
from ..rollbacks import workspace_access
from . import fact_handler, fact_selection, regressions
from .fact_selection import FactChoice, Memory
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
    if test_id := params.get("test"):
        return regressions.run_test(agent, test_id, progress)
    try:
        with launch.exclusive_run(RUNNER, agent.agent_id):
            guardian = check(agent)
            end_interrupted(agent)
            if "run" not in params:
                selection = fact_selection.select_facts(agent, FactChoice.from_params(params))
                runs = build_runs(agent.db, selection.decisions, by=params.get("by", ""))
                batch = Batch(RUNNER, guardian, progress, len(selection.decisions), withheld=selection.withheld)
            else:
                rows = GuardianRun.objects.using(agent.db).filter(id=params["run"])
                runs = list(rows.filter(state__in=(State.QUEUED, State.STOPPED)))
                batch = Batch(RUNNER, guardian, progress, len(runs))
            batch.run(runs, build_fact_handler(agent, guardian, batch))
    except Refused as refused:
        fact_handler.stop_queued(agent.db, params.get("run", ""), refused.sentence)
        raise
    result = summary(agent, batch, params["before_at"], params.get("run"))
    check_answered(result, result["handled"])
    return result


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
    label=gettext_lazy("This site's guardian"),
    audit_text=gettext_lazy("started this site's guardian"),
    cancel_text=gettext_lazy("Proposals so far are kept; facts without one can be handled by another run."),
    page=RUNNER.page,
    page_params=("agent",),
    undo=undo,
    ends_with_terminal=True,
)


def _choose(guardian, agent, switches, since, most):
    memory = Memory(agent)
    files = tuple((name, max(switch.since, since)) for name, switch in switches.items() if memory.can_read(name))
    if not files:
        return []
    first = min(moment for _name, moment in files)
    choice = FactChoice(since=first, limit=most, files=files, give_up_after=GIVE_UP_AFTER)
    return fact_selection.select_facts(agent, choice).decisions


def _handle(guardian, agent, decisions, progress, may_go_on):
    began = clock.now_ms()
    end_interrupted(agent)
    batch = Batch(RUNNER, guardian, progress, len(decisions), most_failures=1)
    runs = build_runs(agent.db, decisions, by=BY_SCHEDULE)
    batch.run(runs, build_fact_handler(agent, guardian, batch, is_unattended=True), may_go_on)
    return summary(agent, batch, began)


def _message(results, stopped):
    return " ".join(f"{result['agent']}: {result['message']}" for result in results) or _("There were no new facts.")


NEW_FACTS = AutoRun(
    kind="guardian_new_facts",
    runner=RUNNER,
    model=config.get_configured_guardian,
    choose=_choose,
    handle=_handle,
    count="handled",
    message=_message,
)
NEW_FACTS_JOB = Kind(
    run=NEW_FACTS.run,
    label=gettext_lazy("This site's guardian: new facts"),
    audit_text=gettext_lazy("started this site's guardian for new facts"),
    cancel_text=gettext_lazy("Writes and proposals so far are kept; the next run continues."),
    schedule=NEW_FACTS.every,
)


def start_retry(agent: Agent, run: GuardianRun, *, by: str) -> JobRun:
    """Queue the run as a job.

    Raises Refused when nothing may be sent, or a run of this agent is queued or running already.
    """
    check(agent)
    with launch.exclusive_start(RUNNER, agent):
        run.save(using=agent.db, force_insert=True)
        return jobs.start(RUNNER.kind, _params(agent, run), by=by)


def run_retry_here(agent: Agent, run: GuardianRun, *, by: str, listener: Listener | None = None) -> JobRun:
    """Run it in this process and return the job, however it ended.

    Raises Refused when nothing may be sent, or while another run is running.
    """
    check(agent)
    with launch.exclusive_run(RUNNER, agent.agent_id):  # another run that starts first is named in the job's row
        run.save(using=agent.db, force_insert=True)
    return run_here(agent, _params(agent, run), by=by, listener=listener)


def _params(agent, run) -> dict[str, Any]:
    return {"agent": agent.agent_id, "run": run.id, "before_at": run.created_at}
