"""Stores the result of a check pass: all of it, or nothing.

Problems are opened, updated, opened again, or closed.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db import transaction

from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.errors import UserFacingError
from openclaw_web.sqlite import failures

from .kinds import Finding, Kind, shorten
from .models import NOT_MUTED, ErrorGroup, Problem, ProblemCheck, State

UNCHECKED = "unchecked"  # the kind that says where a check failed
KEPT_MS = 90 * 86_400_000  # of a problem that is closed
MOST_CLOSED = 5_000
BATCH = 500
FOUND = ("severity", "level", "is_counted", "detail_json", "since_at", "is_found")  # what a check may change
STATES = ("state", "opened_at", "reopened_count", "seen_at", "seen_by", "closed_at", "closed_by")
MUTES = ("muted_at", "muted_by", "muted_until", "mute_reason", "notified_severity")


@dataclass(slots=True)
class PassResult:
    """Result of one pass: findings, which kinds checked which places, and failures."""

    kinds: Mapping[str, Kind]
    probes: Mapping[str, tuple[str, ...]]  # of kinds that look at agents' files only where there are such rows
    findings: list[tuple[str, str, Finding]] = field(default_factory=list)  # with kind and agent
    covered: set[tuple[str, str]] = field(default_factory=set)  # kind, place
    failures: dict[str, tuple[str, BaseException]] = field(default_factory=dict)  # by place: the first kind, and why
    states: dict[str, str] = field(default_factory=dict)  # of the agents that were checked with every kind
    agents: set[str] = field(default_factory=set)  # all there are
    started_at: int = field(default_factory=clock.now_ms)
    is_complete: bool = True
    version: str = ""  # of the checks


def problem_id(kind: str, agent_id: str, subject: str) -> str:
    """Return the id of a problem, which is the same whenever it is found."""
    return hashlib.sha256("\0".join((kind, agent_id, subject)).encode(errors="backslashreplace")).hexdigest()[:20]


def store_findings(result: PassResult) -> None:
    """Update the rows to what a pass found.

    Rows of what could not be checked stay as they are.
    """
    by_id = {
        problem_id(name, agent_id, finding.subject): (name, agent_id, finding)
        for name, agent_id, finding in [*result.findings, *_find_unchecked(result)]
        if name in result.kinds
    }
    now = clock.now_ms()
    with transaction.atomic():
        Problem.objects.filter(state=State.MUTED, muted_until__lte=now).update(notified_severity=0)
        for table in (Problem, ErrorGroup):
            overdue = table.objects.filter(state=State.MUTED, muted_until__lte=now)
            overdue.update(state=State.OPEN, **NOT_MUTED)
        # The rows of these findings, and of what was found before.
        rows = {row.id: row for row in Problem.objects.filter(is_found=True)}
        for keys in in_batches([key for key in by_id if key not in rows], BATCH):
            rows |= Problem.objects.in_bulk(keys)
        new = [_build_row(key, *by_id[key], result.kinds, now) for key in by_id if key not in rows]
        changed = [
            row for key, row in rows.items() if key in by_id and _update_row(row, *by_id[key], result.kinds, now)
        ]
        gone = [row for key, row in rows.items() if key not in by_id and _is_gone(row, result)]
        changed += [_close_row(row, result.kinds.get(row.kind), now) for row in gone]
        # One statement inserts and updates, which is far cheaper than an update of many rows.
        columns = [*FOUND, *STATES, *MUTES]
        options = {"update_conflicts": True, "unique_fields": ["id"], "update_fields": columns}
        Problem.objects.bulk_create([*new, *changed], batch_size=BATCH, **options)
        for keys in in_batches([key for key in by_id if key in rows], BATCH):
            Problem.objects.filter(id__in=keys).update(last_seen_at=now)
        _store_checks(result, now)


def prune_problems() -> int:
    """Remove problems closed long ago, and the oldest of very many closed ones.

    Returns how many rows were removed.
    """
    closed = Problem.objects.filter(state=Problem.State.CLOSED, is_found=False)
    old = closed.filter(closed_at__lt=clock.now_ms() - KEPT_MS)
    spare = closed.order_by("-closed_at").values_list("id", flat=True)[MOST_CLOSED : MOST_CLOSED + 10 * BATCH]
    removed = 0
    for rows in (list(old.values_list("id", flat=True)[: 10 * BATCH]), list(spare)):
        for keys in in_batches(rows, BATCH):
            removed += Problem.objects.filter(id__in=keys).delete()[0]
    return removed


def _build_row(key, name, agent_id, finding: Finding, kinds: Mapping[str, Kind], now):
    columns = {"agent_id": agent_id, "subject": shorten(finding.subject)}
    row = Problem(id=key, kind=name, opened_at=now, last_seen_at=now, **columns)
    _fill(row, finding, kinds[name], now)
    return row


def _fill(row, finding, kind, now):
    row.severity = kind.severity if finding.severity is None else finding.severity
    row.level, row.is_counted, row.detail_json = finding.level, kind.is_counted, finding.detail_json
    row.since_at = row.opened_at if finding.since is None else min(finding.since, now)
    row.is_found = True


def _update_row(row, name, _agent_id, finding, kinds, now):
    """Update a row to a finding; return whether that changed it.

    A problem that a person settled opens again when it is worse.
    """
    before = [getattr(row, column) for column in (*FOUND, "state")]
    is_settled = row.state != Problem.State.OPEN
    is_back = row.state == Problem.State.CLOSED and not row.is_found
    if is_back or (is_settled and finding.level > row.settled_level):
        row.reopen(now)
        row.notified_severity = 0
    _fill(row, finding, kinds[name], now)
    return before != [getattr(row, column) for column in (*FOUND, "state")]


def _is_gone(row, result):
    """Whether a check looked for a problem, and it was not there."""
    if row.kind == UNCHECKED:
        is_explained = row.agent_id in result.states or row.agent_id in _find_lost(result)
        return not row.agent_id or is_explained or row.agent_id not in result.agents
    kind = result.kinds.get(row.kind)
    if kind is None:  # no version of this site looks for it any more
        return True
    if kind.check:
        return (row.kind, "") in result.covered
    return (row.kind, row.agent_id) in result.covered or row.agent_id not in result.agents


def _close_row(row, kind, now):
    """Close a row that a check did not find; its private facts are removed.

    A row that a person closed is only marked as not found.
    """
    row.is_found = False
    if row.state != Problem.State.CLOSED:
        row.state, row.closed_at, row.closed_by = Problem.State.CLOSED, now, ""
    if kind and kind.private:
        row.detail = {name: fact for name, fact in row.detail.items() if name not in kind.private}
    return row


def _find_unchecked(result: PassResult) -> Iterable[tuple[str, str, Finding]]:
    """Yield the places where the check failed, each as a problem of its own."""
    lost = _find_lost(result)
    for place, (name, exc) in result.failures.items():
        if place in lost:
            continue
        is_of_database = failures.is_of_database(exc)
        facts = {
            "kind": name,
            "why": "database" if is_of_database else "system" if isinstance(exc, OSError) else "other",
            "text": str(exc) if is_of_database else type(exc).__name__,
            "errno": exc.errno if isinstance(exc, OSError) else None,
            "is_file": isinstance(exc, UserFacingError),
        }
        yield UNCHECKED, place, Finding("" if place else name, facts)


def _find_lost(result):
    """Return the agents of which a finding says that their file cannot be used."""
    return {agent_id for name, agent_id, _finding in result.findings if result.kinds[name].is_of_files}


def _store_checks(result, now):
    """Store which places were checked."""
    at = result.started_at  # what people did meanwhile is checked again
    checks = [ProblemCheck(place=name, state=state, checked_at=at) for name, state in result.states.items()]
    if result.is_complete:
        checks.append(ProblemCheck(place="", checked_at=now))
    ProblemCheck.objects.bulk_create(
        checks, BATCH, update_conflicts=True, unique_fields=["place"], update_fields=["state", "checked_at"]
    )
    known = set(ProblemCheck.objects.exclude(place="").values_list("place", flat=True))
    for names in in_batches(sorted(known - result.agents), BATCH):
        ProblemCheck.objects.filter(place__in=names).delete()
