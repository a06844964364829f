"""Checking everything for problems: what the worker does every minute and after each job, never a page."""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Protocol

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError
from django.utils.module_loading import import_string

from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import UserFacingError
from openclaw_web.sqlite.time_limits import time_box
from people.audit import log as audit
from people.configuration import setting_values as configuration

from . import kinds as problem_kinds
from . import problem_store, words
from .kinds import Finding
from .models import ProblemCheck
from .problem_store import PassResult

log = logging.getLogger(__name__)

LOCK = "problems.lock"
KIND_MS = 500  # that one kind may take in one place
PASS_SECONDS, PASS_WORK = 1.5, 0.35  # after which, on the clock or of the processor, no other agent is begun
OLDEST_MS = 30 * 60_000  # what is said of the last days changes by itself
SPREAD_MS = 30 * 60_000  # agents that were checked together are not all checked again together
MOST = 20  # problems of one kind that are named, of each agent
MOST_OF_A_KIND = 2_000
SITE = ""


class Place(Protocol):
    """An agent as checks need it: its id, what changes when its file does, and how kinds get at it."""

    name: str
    state: str
    changed_at: int

    def have_rows(self, places: list[str]) -> list[bool] | None:
        """Whether its database has a row in each of some places; None when that cannot be asked."""

    def open(self) -> tuple[Any, str]:
        """What kinds are given, and the alias of its database."""

    def close(self) -> str:
        """Let go of its database; its state from now on, empty when it was written to meanwhile."""


def check_all() -> bool:
    """Check what may have changed, and write down what was found; whether that was everything.

    Another process that is checking is not waited for, and a database that is busy is met again in a minute.
    """
    (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)
    with locks.lock(LOCK, wait=False) as is_ours:
        if not is_ours:
            return False
        try:
            gathered = _gather()
            problem_store.store_findings(gathered)
        except DatabaseError as exc:
            log.warning("problems were not checked: %s", exc)
            return False
        return gathered.is_complete


def _gather():
    kinds = problem_kinds.all_kinds()
    gathered = PassResult(
        kinds, {name: kind.probe() for name, kind in kinds.items() if kind.check_agent and kind.probe}
    )
    gathered.version = _version(kinds)
    until, work_until = time.monotonic() + PASS_SECONDS, time.thread_time() + PASS_WORK
    for name, kind in gathered.kinds.items():
        if kind.check:
            _run(gathered, SITE, name, kind.check, DEFAULT_DB_ALIAS)
    for number, place in enumerate(_due(gathered)):
        # However slow the machine is, each pass gets one agent further.
        if number and (time.monotonic() > until or time.thread_time() > work_until):
            gathered.is_complete = False
            break
        _check_place(gathered, place)
    return gathered


def _due(gathered: PassResult) -> list[Place]:
    """The agents whose file has changed since they were checked, the latest first, then those checked long ago."""
    known = {row.place: row for row in ProblemCheck.objects.exclude(place=SITE)}
    # A verdict on a sample of an agent does not change the agent's file.
    acted_at = audit.read_last_acts(min((row.checked_at for row in known.values()), default=0))
    due = []
    for place in import_string(settings.PROBLEM_PLACES)():
        gathered.agents.add(place.name)
        row = known.get(place.name)
        has_changed = row is None or not place.state or row.state != _state(gathered, place.state)
        if row is None or has_changed or acted_at.get(place.name, 0) >= row.checked_at:
            due.append((0, -place.changed_at, place))
        elif not clock.is_recent(row.checked_at, OLDEST_MS + _spread(place.name)):
            due.append((1, row.checked_at, place))
    due.sort(key=lambda one: one[:2])
    return [place for _group, _order, place in due]


def _version(kinds):
    """A code for the version of this site, its kinds and its settings, such as who has opted out."""
    words = f"{settings.VERSION} {sorted(kinds)} {configuration.read_changed_settings()}"
    return hashlib.sha256(words.encode(errors="backslashreplace")).hexdigest()[:8]


def _state(gathered, state):
    """The state of an agent's file with that of the checks: other checks, or another setting, look again."""
    return f"{gathered.version} {state}" if state else ""


def _check_place(gathered: PassResult, place: Place) -> None:
    """Look at one agent with every kind that is about agents, and that may find something there."""
    wanted, state = _wanted(gathered, place), place.state
    gathered.covered |= {(name, place.name) for name in gathered.probes.keys() - wanted}
    try:
        if wanted:
            subject, db = place.open()
            for name in wanted:
                _run(gathered, place.name, name, partial(gathered.kinds[name].check_agent, subject), db)
            state = place.close()
    except (UserFacingError, DatabaseError, OSError) as exc:
        gathered.failures.setdefault(place.name, ("", exc))
        return
    if place.name not in gathered.failures:
        gathered.states[place.name] = _state(gathered, state)


def _wanted(gathered: PassResult, place: Place) -> list[str]:
    """The kinds that may find something in an agent's file; all of them when the file does not say."""
    names = [name for name, kind in gathered.kinds.items() if kind.check_agent]
    answers = place.have_rows([probe for probes in gathered.probes.values() for probe in probes])
    if answers is None:
        return names
    asked = [name for name, probes in gathered.probes.items() for _probe in probes]
    may_find = {name for name, answer in zip(asked, answers, strict=True) if answer}
    return [name for name in names if name in may_find or name not in gathered.probes]


def _run(gathered: PassResult, place: str, name: str, check: Callable[[], Iterable[Finding]], db: str) -> None:
    """What one kind finds in one place. Whatever keeps it from looking ends no other kind, and closes nothing."""
    try:
        with time_box(db, KIND_MS):
            found = list(islice(check(), MOST_OF_A_KIND))
    except (UserFacingError, DatabaseError, OSError) as exc:
        log.warning("problems of the kind %s were not checked%s: %s", name, f" for {place}" if place else "", exc)
        gathered.failures.setdefault(place, (name, exc))
    except Exception as exc:
        log.exception("problems of the kind %s were not checked%s", name, f" for {place}" if place else "")
        gathered.failures.setdefault(place, (name, exc))
    else:
        gathered.covered.add((name, place))
        gathered.findings += [(name, agent_id, finding) for agent_id, finding in _bounded(found, place)]


def _bounded(found: list[Finding], place: str) -> Iterable[tuple[str, Finding]]:
    """The first findings of each agent, and one that says how many more there are."""
    counts: Counter[str] = Counter()
    for finding in found:
        agent_id = place or finding.agent_id
        counts[agent_id] += 1
        if counts[agent_id] <= MOST:
            yield agent_id, finding
    for agent_id, count in counts.items():
        if count > MOST:
            yield agent_id, Finding(words.MORE, {"more": count - MOST}, level=count - MOST)


def _spread(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:4], 16) * SPREAD_MS >> 16
