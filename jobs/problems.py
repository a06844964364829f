"""Problems of jobs: an automatic task whose last run failed, and jobs that no worker runs."""

from collections.abc import Iterable

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link, is_any

from . import automatic_tasks
from . import kinds as job_kinds
from .models import JobRun

WAITED_MS = 10 * 60_000  # a job that is not begun for so long has no worker
COUNTED = 100
FAILED = (JobRun.State.FAILED, JobRun.State.REFUSED)


def check_tasks() -> Iterable[Finding]:
    """Yield the automatic tasks whose last run failed or was refused."""
    for task in automatic_tasks.read_tasks():
        if task.interval_ms and task.last and task.last.state in FAILED:
            facts = {"kind": task.kind, "job": task.last.id, "message": task.last.message}
            yield Finding(task.kind, facts, since=task.last.finished_at or task.last.created_at)


def describe_task(facts: Facts) -> str:
    """Return a sentence with the failed task and the message of its job."""
    words = {"task": job_kinds.get_label(facts["kind"]), "message": facts["message"]}
    if not facts["message"]:
        return _("The automatic task “%(task)s” failed.") % words
    return _("The automatic task “%(task)s” failed: %(message)s") % words


def check_queue() -> Iterable[Finding]:
    """Yield the jobs that have waited for long while no job runs."""
    now = clock.now_ms()
    has_waited = Q(created_at__lt=now - WAITED_MS) | Q(
        created_at__gt=now + WAITED_MS
    )  # a job from the future has waited for an unknown time
    queued = JobRun.objects.filter(has_waited, state=JobRun.State.QUEUED).order_by("created_at", "id")
    moments = list(queued.values_list("created_at", flat=True)[: COUNTED + 1])
    if moments and not JobRun.objects.filter(state=JobRun.State.RUNNING).exists():
        facts = {"count": min(len(moments), COUNTED), "is_more": len(moments) > COUNTED}
        yield Finding(facts=facts, level=len(moments), since=moments[0])


TASK_FAILED = Kind(
    label=gettext_lazy("Automatic task failed"),
    severity=82,
    describe=describe_task,
    link=lambda facts: Link(gettext_lazy("View job"), "jobs:job_detail", (facts["job"],)),
    role="viewer",
    check=check_tasks,
    seen_by="operator",
)
NO_WORKER = Kind(
    label=gettext_lazy("Jobs without a worker"),
    severity=92,
    describe=ngettext_lazy(
        "%(count)s job is queued, but no worker runs it. “openclaw-web serve” starts a worker.",
        "%(count)s jobs are queued, but no worker runs them. “openclaw-web serve” starts a worker.",
        BY_COUNT,
    ),
    link=lambda _facts: Link(gettext_lazy("View jobs"), "jobs:job_list", query={"state": "queued"}),
    role="viewer",
    check=check_queue,
    seen_by="operator",
    causes={"findings_behind": is_any},
)
