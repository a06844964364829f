"""What runs by itself: kinds of jobs that say how often (`every`).

Each run is a job like those that people start, so that its row tells what it did and how long. The job worker looks
every half minute. A kind is due when its interval is set and over since its last run; a run that
is said to have begun in the future counts for nothing.
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
    """A kind that runs by itself as it stands: its interval (None: off), its last run, and when it is due."""

    kind: str
    schedule: Schedule
    interval_ms: int | None
    last: JobRun | None
    due_at: int | None

    @property
    def label(self) -> Words:
        return job_kinds.get_label(self.kind)


def read_tasks(settings: Collection[str] = configuration.KEYS) -> list[AutomaticTask]:
    """Every kind that runs by itself, by one of these settings, as it stands now."""
    values = configuration.get_many(*configuration.KEYS)
    return [_state(kind, every, values) for kind, every in job_kinds.get_schedules() if every.setting in settings]


def start_due() -> list[JobRun]:
    """Start everything that is due; any process may call it any time, one run comes of it.

    A kind that cannot be looked at, for what its files hold or its database says, holds up none of the others.
    """
    return [job for state in read_tasks() if (job := _start(state))]


def _start(state):
    if state.due_at is None or state.due_at > clock.now_ms() or not _is_possible(state):
        return None
    with transaction.atomic():  # under the write lock: whoever was quicker has started it
        if _last(state.kind) != state.last:
            return None
        return jobs.start(state.kind, state.every.params(), by=BY_SCHEDULE)


def _is_possible(state):
    try:
        return state.every.is_possible()
    except (Refused, OSError, DatabaseError) as exc:
        log.warning("%s is not started: %s", state.kind, exc)
        return False


def _state(kind, every, values):
    wanted = values[every.setting]
    every_ms = (bool(wanted) if every.is_switch else wanted) * every.unit_ms or None
    last = _last(kind)
    is_under_way = last is not None and not last.has_ended
    due_at = None if every_ms is None or is_under_way else _next(every, every_ms, last, values)
    return AutomaticTask(kind, every, every_ms, last, due_at)


def _next(every, every_ms, last, values):
    if last is None:
        return clock.now_ms()
    if not every.moment:
        return last.created_at + every_ms
    minute, hour, *_rest = values[every.moment].split()
    moment = last.created_at // DAY_MS * DAY_MS + int(hour) * HOUR_MS + int(minute) * MINUTE_MS
    return moment if moment > last.created_at else moment + DAY_MS


def _last(kind):
    """The last run of a kind. One from the future is none; starting another while it is under way gives that one."""
    runs = JobRun.objects.filter(kind=kind, started_by=BY_SCHEDULE, created_at__lte=clock.now_ms())
    return runs.defer("log", "result_json", "params_json").order_by("-created_at", "-id").first()
