"""Declarations of kinds of jobs, which the setting JOB_KINDS names.

Each declaration stands beside the function that it runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from openclaw_web import capabilities
from openclaw_web.errors import Refused

Words = str | Promise
BY_SCHEDULE = "schedule"  # `started_by` of jobs that no person started
RESULT_CHARACTERS = 20_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def as_json(result: dict[str, Any]) -> str:
    """Return a result as JSON, at most 20,000 characters of it."""
    return orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()[:RESULT_CHARACTERS]


def get_message(result: dict[str, Any]) -> str:
    """Return the message of a result, or all of a result that has none."""
    return str(result["message"]) if "message" in result else as_json(result)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule: the setting with the interval of a kind, and its unit in milliseconds.

    `build_params` makes the parameters of each run, and `is_possible` says whether a run can start now. With
    `is_switch` the kind runs once in a unit when its setting is neither 0 nor false; with `time_setting` it runs at the
    time of day that this setting says.
    """

    setting: str
    unit_ms: int
    build_params: Callable[[], dict[str, Any]]
    is_possible: Callable[[], bool] = lambda: True
    is_switch: bool = False
    time_setting: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: its function, its texts, the page of its results, and its schedule.

    `run(params, progress)` does the work, and can run again after an interruption at any point. `audit_text` is the
    text of the audit log for whoever started a job, and `describe_result` returns a result as text. `page` is the route
    of the page with the result, and `page_params` are the parameters of the job that stand in its address.
    `cancel_text` says what a canceled run keeps; `undo(params)` takes back the rest, also after a kill, once no process
    works on the job any more. A run in a terminal is stopped, not continued, when its process ends and
    `ends_with_terminal` is set: somebody in that terminal asked for what it sends to others.
    """

    run: Callable[[dict[str, Any], Any], dict[str, Any] | None]
    label: Words
    audit_text: Words
    cancel_text: Words
    describe_result: Callable[[dict[str, Any]], str] = get_message
    page: str = ""
    page_params: tuple[str, ...] = ()
    undo: Callable[[dict[str, Any]], None] | None = None
    schedule: Schedule | None = None
    ends_with_terminal: bool = False

    def build_address(self, params: dict[str, Any]) -> str | None:
        """Return the address of the page with the result; None without one.

        Also None when `params` lack a part of the address.
        """
        args = [params.get(name) for name in self.page_params]
        return reverse(self.page, args=args) if self.page and None not in args else None


def get_names() -> list[str]:
    """Return the names of all kinds."""
    return list(settings.JOB_KINDS)


def get_kind(name: str) -> Kind:
    """Return the kind with this name.

    Raises KeyError for a name that is not, or no longer, a kind.
    """
    return import_string(settings.JOB_KINDS[name])


def find_kind(name: str) -> Kind | None:
    """Return the kind with this name, or None: rows outlive their kinds."""
    return get_kind(name) if name in settings.JOB_KINDS else None


def get_label(name: str) -> Words:
    """Return the label of a kind, or the name of one that no longer exists."""
    kind = find_kind(name)
    return kind.label if kind else name


def build_choices() -> list[tuple[str, Words]]:
    """Return the name and the label of every kind, for a choice."""
    return [(name, get_label(name)) for name in get_names()]


def get_schedules() -> list[tuple[str, Schedule]]:
    """Return the kinds that have a schedule, each with it, without those of disabled capabilities."""
    names = [name for name in get_names() if _find_owner(name) not in settings.DISABLED]
    return [(name, schedule) for name in names if (schedule := get_kind(name).schedule)]


def refuse_disabled(name: str) -> None:
    """Raise Refused for a kind of a disabled capability."""
    if (owner := _find_owner(name)) in settings.DISABLED:
        raise Refused(capabilities.describe(owner))


def _find_owner(name):
    return capabilities.find_job_owner(name, settings.JOB_KINDS[name])
