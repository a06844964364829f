"""Problems of OpenClaw's scheduled tasks: overdue or failing ones.

An overdue task did not run when it was due; the last run of a failing task failed.
"""

import re
from collections.abc import Iterable, Iterator

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import AgentDatabase
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.pages.formatting import duration
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link

from . import schedules
from .models import CronJob, CronRunLog

GRACE_MS = 30 * 60_000  # a task may run, or its run be imported, that much later
RECENT_MS = 30 * 86_400_000  # a task that failed longer ago is not in use
MOST = 5_000
RUNS = 10  # the newest of a failing task
# Why a run failed, as OpenClaw and the clients of models write it.
OF_MODEL = re.compile(
    r"LLM request|FailoverError|all models failed|no available auth profile|upstream|overloaded|rate.?limit"
    r"|ECONN|ENOTFOUND|fetch failed|connection (?:error|refused|reset)|\b(?:401|429|50[0234]|529)\b",
    re.IGNORECASE,
)
FAILED_ONCE = gettext_lazy("The last run of the scheduled task “%(name)s” of %(agent)s failed.")
FAILED_OFTEN = ngettext_lazy(
    "The last %(count)s run of the scheduled task “%(name)s” of %(agent)s failed.",
    "The last %(count)s runs of the scheduled task “%(name)s” of %(agent)s failed.",
    BY_COUNT,
)


def check_overdue() -> Iterable[Finding]:
    """Find enabled tasks that were due at the last import and have not run since.

    The import is that of the task's agent. Which tasks were due later, it cannot know.
    """
    for job, known_at in find_overdue():
        facts = {"task": job["id"], "name": job["name"] or job["id"], "late_ms": known_at - job["next_run_at"]}
        yield Finding(job["id"], facts, agent_id=job["agent_id"], since=job["next_run_at"])


def find_overdue() -> Iterator[tuple[dict, int]]:
    """Yield the overdue tasks, each with the time until which its agent is known."""
    now = clock.now_ms()
    imported = dict(AgentDatabase.objects.values_list("agent_id", "last_seen_at"))
    for job in _read_enabled(next_run_at__gt=0, next_run_at__lt=now - GRACE_MS):
        known_at = min(now, imported.get(job["agent_id"]) or 0)
        has_run = job["ran_at"] is not None and job["ran_at"] >= job["next_run_at"]
        if not has_run and job["next_run_at"] < known_at - GRACE_MS:
            yield job, known_at


def describe_overdue(facts: Facts) -> str:
    """Describe which task is overdue, and for how long."""
    words = {"name": facts["name"], "agent": facts["agent"], "time": duration(facts["late_ms"])}
    return _("The scheduled task “%(name)s” of %(agent)s is %(time)s overdue.") % words


def check_failing() -> Iterable[Finding]:
    """Find the enabled tasks whose newest run failed."""
    for job, since in find_failing():
        runs = CronRunLog.objects.filter(job_id=job["id"]).order_by(*schedules.ORDER)
        outcomes = [schedules.get_outcome(status) for status in runs.values_list("status", flat=True)[:RUNS]]
        count = next((at for at, outcome in enumerate(outcomes) if outcome != schedules.FAILED), len(outcomes))
        facts = {"task": job["id"], "name": job["name"] or job["id"], "count": count, "is_more": count == RUNS}
        facts["is_of_model"] = is_of_model(job)
        yield Finding(job["id"], facts, agent_id=job["agent_id"], level=count // 3, since=since)


def find_failing() -> Iterator[tuple[dict, int]]:
    """Yield the enabled tasks whose newest run failed, each with the time of that run."""
    for job in _read_enabled():
        is_failed = schedules.get_outcome(job["status"] or "") == schedules.FAILED
        if is_failed and clock.is_recent(at := clock.clamp(job["ran_at"]), RECENT_MS):
            yield job, at


def is_of_model(job: dict) -> bool:
    """Whether the newest run of a task failed because the model did not answer."""
    return OF_MODEL.search(job["error"] or "") is not None


def _read_enabled(**columns):
    """Return the enabled tasks with the time, the status and the error of their newest run."""
    runs = CronRunLog.objects.filter(job_id=OuterRef("id")).order_by(*schedules.ORDER)
    jobs = CronJob.objects.filter(enabled=True, **columns).exclude(id="").exclude(agent_id="")
    newest = {"ran_at": "ts", "status": "status", "error": "error"}
    jobs = jobs.annotate(**{name: Subquery(runs.values(column)[:1]) for name, column in newest.items()})
    return jobs.order_by("agent_id", "name", "id").values("id", "agent_id", "name", "next_run_at", *newest)[:MOST]


def _build_link(facts: Facts) -> Link:
    return Link(gettext_lazy("Open"), "automation:cron_detail", (facts["agent"], facts["task"]))


OVERDUE = Kind(
    label=gettext_lazy("Task overdue"),
    severity=62,
    describe=describe_overdue,
    link=_build_link,
    role="viewer",
    check=check_overdue,
)
FAILING = Kind(
    label=gettext_lazy("Task failing"),
    severity=60,
    describe=lambda facts: FAILED_ONCE if facts["count"] == 1 else FAILED_OFTEN,
    link=_build_link,
    role="viewer",
    check=check_failing,
)
