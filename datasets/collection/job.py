"""The job that collects: a run that somebody started, or what is new behind imports."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases, visits
from agents.models import Agent
from jobs import services as jobs
from jobs.kinds import BY_SCHEDULE, MINUTE_MS, Kind, Schedule
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import CollectionRun
from ..spot_checks import checks
from . import runs, strategies, walk
from .classification import DAYS
from .criteria import POSITIVE

JOB_KIND = "collection"
AUTO = "datasetCollection.autoCollect"


def start_run(*, by: str, **options: Any) -> tuple[CollectionRun, JobRun]:
    """A new run with the job that does it. Raises Refused as `runs.create_run` does."""
    run = runs.create_run(by=by, **options)
    return run, jobs.start(JOB_KIND, {"run": run.id}, by=by)


def run_here(*, by: str, listener: Listener | None = None, **options: Any) -> CollectionRun:
    """Do a new run in this process. Raises Refused when it did not finish."""
    run, started = start_run(by=by, **options)
    job = jobs.run_started(started, listener)
    run.refresh_from_db()
    if run.state != CollectionRun.State.FINISHED:
        raise Refused(job.message or _("Collecting was not completed."))
    return run


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Do the run `params["run"]`, or without one collect what is new; return its funnel as values of JSON."""
    if "run" in params:
        collection = CollectionRun.objects.select_related("strategy").filter(id=params["run"]).first()
        if collection is None:
            raise Refused(_("This run does not exist any more. Start a new one."))
    else:
        unfinished = CollectionRun.objects.filter(started_by=BY_SCHEDULE, state=CollectionRun.State.RUNNING)
        collection = unfinished.select_related("strategy").order_by("-id").first() or runs.create_run(
            by=BY_SCHEDULE, is_auto=True
        )
    if collection.state != CollectionRun.State.FINISHED:
        runs.perform(collection, progress)
    return {"run": collection.id, **runs.build_funnel(collection.counts), "message": describe_run(collection)}


def describe_run(collection: CollectionRun) -> str:
    """The result of a run in a sentence."""
    funnel = runs.build_funnel(collection.counts)
    turns = format_plural("%(count)s turn", "%(count)s turns", funnel["turns"])
    if collection.is_dry:
        samples = format_plural("%(count)s would become a sample", "%(count)s would become samples", funnel["samples"])
    else:
        samples = format_plural("%(count)s sample created", "%(count)s samples created", funnel["samples"])
    return _("%(turns)s: %(samples)s.") % {"turns": turns, "samples": samples}


def is_needed() -> bool:
    """Whether an agent has something new, or a write has become old enough."""
    if not configuration.is_on(runs.ENABLED):
        return False
    days = strategies.find_in_force().criteria[POSITIVE][DAYS]
    if walk.find_due(days, clock.now_ms()).exists() or checks.is_stop_due():
        return True
    agents = (name for name in Agent.objects.values_list("agent_id", flat=True) if databases.find_alias(name))
    return any(not (noted := walk.read_noted(name)) or not visits.is_unchanged(name, noted) for name in agents)


def _end_cancelled(params):
    row = CollectionRun.objects.filter(id=params.get("run")).first()
    if row and row.state != CollectionRun.State.FINISHED:
        runs.end_run(row, runs.Counter())


JOB = Kind(
    run=run,
    label=gettext_lazy("Collect samples"),
    audit_text=gettext_lazy("started to collect samples"),
    cancel_text=gettext_lazy("Samples already created are kept; the next run continues."),
    page="datasets:collection_run",
    page_params=("run",),
    undo=_end_cancelled,
    schedule=Schedule(AUTO, MINUTE_MS, dict, is_needed, is_switch=True),
)
