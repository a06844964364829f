"""Automatic tasks: kinds of jobs that have a schedule.

Each run is a job like those that people start, so that its row says what it did and how long it took. The job worker
checks every half minute. A kind is due when its interval is set and has passed since its last run; a run whose start
lies in the future does not count.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass

from django.db import DatabaseError, transaction

from openclaw_web import clock
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from . import kinds as job_kinds
from . import services as jobs
from .kinds import BY_SCHEDULE, DAY_MS, HOUR_MS, MINUTE_MS, Schedule, Words
from .models import JobRun

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AutomaticTask:
    """An automatic task: its interval (None: off), its last run, and when it is due."""

    kind: str
    schedule: Schedule
    interval_ms: int | None
    last: JobRun | None
    due_at: int | None

    @property
    def label(self) -> Words:
        return job_kinds.get_label(self.kind)


def read_tasks(settings: Collection[str] = configuration.KEYS) -> list[AutomaticTask]:
    """Return the automatic tasks that one of these settings switches, as they are now."""
    values = configuration.get_many(*configuration.KEYS)
    return [
        _build_task(kind, schedule, values)
        for kind, schedule in job_kinds.get_schedules()
        if schedule.setting in settings
    ]


def start_due() -> list[JobRun]:
    """Start every task that is due, and return the new jobs.

    Any process may call this at any time: one job starts. A task that cannot be checked, because of its files or its
    database, does not hold up the others.
    """
    return [job for task in read_tasks() if (job := _start_if_due(task))]


def _start_if_due(task):
    if task.due_at is None or task.due_at > clock.now_ms() or not _is_possible(task):
        return None
    with transaction.atomic():  # under the write lock: another process may have started it
        if _find_last_run(task.kind) != task.last:
            return None
        return jobs.start(task.kind, task.schedule.build_params(), by=BY_SCHEDULE)


def _is_possible(task):
    try:
        return task.schedule.is_possible()
    except (Refused, OSError, DatabaseError) as exc:
        log.warning("%s is not started: %s", task.kind, exc)
        return False


def _build_task(kind, schedule, values):
    setting_value = values[schedule.setting]
    interval_ms = (bool(setting_value) if schedule.is_switch else setting_value) * schedule.unit_ms or None
    last = _find_last_run(kind)
    is_under_way = last is not None and not last.has_ended
    due_at = None if interval_ms is None or is_under_way else _find_next_start(schedule, interval_ms, last, values)
    return AutomaticTask(kind, schedule, interval_ms, last, due_at)


def _find_next_start(schedule, interval_ms, last, values):
    if last is None:
        return clock.now_ms()
    if not schedule.time_setting:
        return last.created_at + interval_ms
    minute, hour, *_rest = values[schedule.time_setting].split()
    moment = last.created_at // DAY_MS * DAY_MS + int(hour) * HOUR_MS + int(minute) * MINUTE_MS
    return moment if moment > last.created_at else moment + DAY_MS


def _find_last_run(kind):
    """Return the last run of a kind, but none from the future.

    Starting a task while that run is under way returns the same run.
    """
    runs = JobRun.objects.filter(kind=kind, started_by=BY_SCHEDULE, created_at__lte=clock.now_ms())
    return runs.defer("log", "result_json", "params_json").order_by("-created_at", "-id").first()
