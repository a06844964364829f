"""What a kind of job is. The setting JOB_KINDS names the declaration of each one, which stands beside what it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.module_loading import import_string

Words = str | Promise
BY_SCHEDULE = "schedule"  # who started what nobody started
RESULT_CHARACTERS = 20_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def as_json(result: dict[str, Any]) -> str:
    """A result in the words of programs: what a page shows of a kind that has no better ones."""
    return orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()[:RESULT_CHARACTERS]


@dataclass(frozen=True, slots=True)
class Schedule:
    """That a job runs by itself: the setting with its interval, in which unit, what it is told, and whether it can be.

    One with `is_switch` runs once in a unit when its setting is neither 0 nor false, and with `moment` at the time of
    the day that this setting says.
    """

    setting: str
    unit_ms: int
    build_params: Callable[[], dict[str, Any]]
    is_possible: Callable[[], bool] = lambda: True
    is_switch: bool = False
    time_setting: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: `run(params, progress)` does it and can be run again after it was broken off anywhere.

    `started` is what the audit log says of whoever started one, `done` tells a result in words, `page` is the route of
    what a finished one has made, with those of its parameters that stand in the address. `kept` says what becomes of
    what a run has done when it is cancelled; `undo(params)` takes back what is not kept, also after a kill, and is
    called when nobody works on it any more. A run in a terminal that `ends_with_terminal` is stopped, not gone on with,
    when its process ends: what it sends to others was asked for there.
    """

    run: Callable[[dict[str, Any], Any], dict[str, Any] | None]
    label: Words
    audit_text: Words
    cancel_text: Words
    describe_result: Callable[[dict[str, Any]], str] = as_json
    page: str = ""
    page_params: tuple[str, ...] = ()
    undo: Callable[[dict[str, Any]], None] | None = None
    schedule: Schedule | None = None
    ends_with_terminal: bool = False

    def build_address(self, params: dict[str, Any]) -> str | None:
        """The page of what a job with these parameters has made; None when no page shows it, or they do not say."""
        args = [params.get(name) for name in self.page_params]
        return reverse(self.page, args=args) if self.page and None not in args else None


def get_names() -> list[str]:
    """Every kind there is."""
    return list(settings.JOB_KINDS)


def get_kind(name: str) -> Kind:
    """The kind called so. Raises KeyError for one that there is not, or not any more."""
    return import_string(settings.JOB_KINDS[name])


def find_kind(name: str) -> Kind | None:
    """The kind called so, or None: rows outlive their kinds."""
    return get_kind(name) if name in settings.JOB_KINDS else None


def get_label(name: str) -> Words:
    """What people call a kind; one that is gone is called what it was."""
    kind = find_kind(name)
    return kind.label if kind else name


def build_choices() -> list[tuple[str, Words]]:
    """Every kind with its label, for a choice."""
    return [(name, get_label(name)) for name in get_names()]


def get_schedules() -> list[tuple[str, Schedule]]:
    """The kinds that run by themselves, and how often."""
    return [(name, every) for name in get_names() if (every := get_kind(name).every)]
