"""What runs by itself: each task is a job like those that people start, so that its row tells what it did and how long.

The job worker looks every half minute. A task is due when its interval is set and over since its last run. To add one,
write a line in TASKS: the setting with its interval, the kind of job, and what the job is told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agents import clock, configuration

from . import jobs
from .models import BackupRun, JobRun

BY = "schedule"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Task:
    """Something that runs by itself: the setting with its interval, in which unit, the job and its parameters.

    One with `is_switch` runs once in a unit when its setting is neither 0 nor false, and with `moment` at the time of
    the day that this setting says.
    """

    setting: str
    unit_ms: int
    kind: str
    params: Callable[[], dict[str, Any]]
    is_possible: Callable[[], bool]
    label: str | Promise
    is_switch: bool = False
    moment: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A task as it stands: its interval (None: off), its last run, and when it is due."""

    task: Task
    every_ms: int | None
    last: JobRun | None
    due_at: int | None


TASKS = (
    Task(
        "schedule.collectMinutes",
        MINUTE_MS,
        "collect",
        lambda: {"source": str(settings.STATE_DIR)},
        lambda: settings.STATE_DIR.is_dir(),
        _("Collect"),
    ),
    Task(
        "schedule.backupHours",
        HOUR_MS,
        "backup",
        lambda: {"by": BY, "keep": configuration.get("backup.keep")},
        lambda: True,
        _("Backup"),
    ),
    Task(
        "schedule.drillDays",
        DAY_MS,
        "backup_drill",
        lambda: {"backup": "latest"},
        lambda: BackupRun.objects.filter(status__in=BackupRun.USABLE).exists(),
        _("Restore drill"),
    ),
    Task("retentionDays", DAY_MS, "retention", lambda: {"by": BY}, lambda: True, _("Retention"), is_switch=True),
    Task(
        "jsonlExport.enabled",
        DAY_MS,
        "jsonl_export",
        lambda: {"by": BY},
        lambda: True,
        _("Daily files"),
        is_switch=True,
        moment="jsonlExport.schedule",
    ),
)


def states() -> list[State]:
    """Every task as it stands now."""
    return [_state(task) for task in TASKS]


def start_due() -> list[JobRun]:
    """Start every task that is due; any process may call it any time, one run comes of it."""
    return [job for state in states() if (job := _start(state))]


def _start(state):
    if state.due_at is None or state.due_at > clock.now_ms() or not state.task.is_possible():
        return None
    with transaction.atomic():  # under the write lock: whoever was quicker has started it
        if _last(state.task) != state.last:
            return None
        return jobs.start(state.task.kind, state.task.params(), by=BY)


def _state(task):
    wanted = configuration.get(task.setting)
    every_ms = (bool(wanted) if task.is_switch else wanted) * task.unit_ms or None
    last = _last(task)
    is_under_way = last is not None and not last.has_ended
    due_at = None if every_ms is None or is_under_way else _next(task, every_ms, last)
    return State(task, every_ms, last, due_at)


def _next(task, every_ms, last):
    if last is None:
        return clock.now_ms()
    if not task.moment:
        return last.created_at + every_ms
    minute, hour, *_rest = configuration.get(task.moment).split()
    moment = last.created_at // DAY_MS * DAY_MS + int(hour) * HOUR_MS + int(minute) * MINUTE_MS
    return moment if moment > last.created_at else moment + DAY_MS


def _last(task):
    runs = JobRun.objects.filter(kind=task.kind, started_by=BY).defer("log", "result_json", "params_json")
    return runs.order_by("-created_at", "-id").first()
