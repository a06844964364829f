"""Checks everything for problems, every minute and after each job.

The worker does this, never a page.
"""

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
KIND_MS = 500  # milliseconds that one kind may take in one place
PASS_SECONDS, PASS_WORK = 1.5, 0.35  # seconds on the clock, and of the processor, after which no other agent is begun
OLDEST_MS = 30 * 60_000  # findings about the last days change by themselves
SPREAD_MS = 30 * 60_000  # agents that were checked together are not all checked again together
MOST = 20  # problems of one kind that are named, of each agent
MOST_OF_A_KIND = 2_000
SITE = ""


class Place(Protocol):
    """An agent as checks need it.

    `name` is its id; `state` changes when its file does.
    """

    name: str
    state: str
    changed_at: int

    def have_rows(self, places: list[str]) -> list[bool] | None:
        """Return whether its database has a row in each of some places.

        None when that cannot be asked.
        """

    def open(self) -> tuple[Any, str]:
        """Open it; return the argument of kinds, and the alias of its database."""

    def close(self) -> str:
        """Close its database and return its state from now on.

        The state is empty when the database was written to meanwhile.
        """


def check_all() -> bool:
    """Check what may have changed and store the problems; return whether that was everything.

    Another process that is checking is not waited for, and a database that is busy is met again in a minute.
    """
    (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)
    with locks.lock(LOCK, wait=False) as is_ours:
        if not is_ours:
            return False
        try:
            result = _run_pass()
            problem_store.store_findings(result)
        except DatabaseError as exc:
            log.warning("problems were not checked: %s", exc)
            return False
        return result.is_complete


def _run_pass():
    kinds = problem_kinds.all_kinds()
    result = PassResult(kinds, {name: kind.probe() for name, kind in kinds.items() if kind.check_agent and kind.probe})
    # A code for the version of this site, its kinds and its settings.
    version = f"{settings.VERSION} {sorted(kinds)} {configuration.read_changed_settings()}"
    result.version = hashlib.sha256(version.encode(errors="backslashreplace")).hexdigest()[:8]
    until, work_until = time.monotonic() + PASS_SECONDS, time.thread_time() + PASS_WORK
    for name, kind in result.kinds.items():
        if kind.check:
            _run(result, SITE, name, kind.check, DEFAULT_DB_ALIAS)
    for number, place in enumerate(_find_due(result)):
        # However slow the machine is, each pass gets one agent further.
        if number and (time.monotonic() > until or time.thread_time() > work_until):
            result.is_complete = False
            break
        _check_place(result, place)
    return result


def _find_due(result: PassResult) -> list[Place]:
    """Return the agents to be checked.

    First come those whose file has changed since they were checked, the latest first, then those checked long ago.
    """
    known = {row.place: row for row in ProblemCheck.objects.exclude(place=SITE)}
    # A verdict on a sample of an agent does not change the agent's file.
    acted_at = audit.read_last_acts(min((row.checked_at for row in known.values()), default=0))
    due = []
    for place in import_string(settings.PROBLEM_PLACES)():
        result.agents.add(place.name)
        row = known.get(place.name)
        has_changed = row is None or not place.state or row.state != _build_state(result, place.state)
        if row is None or has_changed or acted_at.get(place.name, 0) >= row.checked_at:
            due.append((0, -place.changed_at, place))
        elif not clock.is_recent(row.checked_at, OLDEST_MS + _spread(place.name)):
            due.append((1, row.checked_at, place))
    due.sort(key=lambda entry: entry[:2])
    return [place for _group, _order, place in due]


def _build_state(result, state):
    """Return the state of an agent's file together with that of the checks.

    With other checks, or another setting, an agent is checked again.
    """
    return f"{result.version} {state}" if state else ""


def _check_place(result: PassResult, place: Place) -> None:
    """Check one agent with every kind that may find something there."""
    kind_names, state = _find_kinds(result, place), place.state
    result.covered |= {(name, place.name) for name in result.probes.keys() - kind_names}
    try:
        if kind_names:
            subject, db = place.open()
            for name in kind_names:
                _run(result, place.name, name, partial(result.kinds[name].check_agent, subject), db)
            state = place.close()
    except (UserFacingError, DatabaseError, OSError) as exc:
        result.failures.setdefault(place.name, ("", exc))
        return
    if place.name not in result.failures:
        result.states[place.name] = _build_state(result, state)


def _find_kinds(result: PassResult, place: Place) -> list[str]:
    """Return the kinds that may find something in an agent's file.

    They are all kinds about agents when the file does not say.
    """
    names = [name for name, kind in result.kinds.items() if kind.check_agent]
    answers = place.have_rows([probe for probes in result.probes.values() for probe in probes])
    if answers is None:
        return names
    probed_names = [name for name, probes in result.probes.items() for _probe in probes]
    may_find = {name for name, answer in zip(probed_names, answers, strict=True) if answer}
    return [name for name in names if name in may_find or name not in result.probes]


def _run(result: PassResult, place: str, name: str, check: Callable[[], Iterable[Finding]], db: str) -> None:
    """Add what one kind finds in one place.

    An error ends no other kind, and closes no problem.
    """
    try:
        with time_box(db, KIND_MS):
            findings = list(islice(check(), MOST_OF_A_KIND))
    except (UserFacingError, DatabaseError, OSError) as exc:
        log.warning("problems of the kind %s were not checked%s: %s", name, f" for {place}" if place else "", exc)
        result.failures.setdefault(place, (name, exc))
    except Exception as exc:
        log.exception("problems of the kind %s were not checked%s", name, f" for {place}" if place else "")
        result.failures.setdefault(place, (name, exc))
    else:
        result.covered.add((name, place))
        result.findings += [(name, agent_id, finding) for agent_id, finding in _limit(findings, place)]


def _limit(findings: list[Finding], place: str) -> Iterable[tuple[str, Finding]]:
    """Yield the first findings of each agent, and one with the number of others."""
    counts: Counter[str] = Counter()
    for finding in findings:
        agent_id = place or finding.agent_id
        counts[agent_id] += 1
        if counts[agent_id] <= MOST:
            yield agent_id, finding
    for agent_id, count in counts.items():
        if count > MOST:
            yield agent_id, Finding(words.MORE, {"more": count - MOST}, level=count - MOST)


def _spread(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:4], 16) * SPREAD_MS >> 16
