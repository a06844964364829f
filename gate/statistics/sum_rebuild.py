"""Sums made again from all decisions: in pieces, each a short transaction, while decisions go on coming in.

First the hours, the oldest first, then the sessions by their ids. What is written meanwhile counts at once where the
sums are made already, and is read with the rest where they are not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import Count, F, IntegerField, QuerySet, Sum
from django.db.models.functions import Cast

from ..models import GateCall, GateDay, GateHour, GateSessionSums, GateSumsState, MemoryGateDecision
from . import sum_tables
from .sum_changes import DAY_MS, FAILED_OUTCOMES, HOUR_MS, SumChanges

NEVER, ALWAYS = -(2**62), 2**62
NOTHING = (NEVER, "")  # is made
PIECE = 5_000  # rows
READ = (
    *("session_id", "decision", "llm_model", "prompt_version", "created_at", "saw_user"),
    *("llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"),
)
READ_OF_CALL = ("session_id", "llm_model", "prompt_version", "created_at", "cost_usd", "outcome", "replay_id")
Group = Any  # an hour, or the id of a session


@dataclass(frozen=True, slots=True)
class _Phase:
    """What pieces are made of: all rows that share a value of `group` belong into one piece."""

    column: str
    order: tuple[str, ...]
    group: Callable[[Any], Group]
    bounds: Callable[[Group], dict[str, Any]]  # the rows of a group


def _hour(row):
    return row.created_at - row.created_at % HOUR_MS


HOURS = _Phase("created_at", ("created_at",), _hour, lambda hour: {"created_at__range": (hour, hour + HOUR_MS - 1)})
SESSIONS = _Phase(
    "session_id", ("session_id", "created_at"), lambda row: row.session_id, lambda name: {"session_id": name}
)


def reset_sums(db: str) -> tuple[int, str]:
    """Remove the sums and note that they are to be made, in the caller's transaction; how far they are made."""
    if sum_tables.read_state(db) != NOTHING:
        sum_tables.clear(db)
        GateSumsState.objects.using(db).create(hours_made=NEVER, sessions_made="")
    return NOTHING


def run_step(db: str) -> bool:
    """Make the next piece; whether there may be another one. Several processes may do so at once."""
    with transaction.atomic(using=db):
        made = sum_tables.read_state(db)
        if made is None:
            return False
        hour, session_id = made
        if hour < ALWAYS:
            now: tuple[int, str] | None = (_make_hours(db, hour), "")
        else:
            last = _make_sessions(db, session_id)
            now = None if last is None else (ALWAYS, last)
        row = GateSumsState.objects.using(db)
        if now is None:
            row.all().delete()
        else:
            row.update(hours_made=now[0], sessions_made=now[1])
        return now is not None


def is_small(db: str) -> bool:
    """Whether there are so few decisions and calls that their sums are made on the way."""
    counts = (sum_tables.count_up_to(db, model, PIECE + 1) for model in (MemoryGateDecision, GateCall))
    return sum(counts) <= PIECE


def count_progress(db: str) -> tuple[int, int]:
    """How many times a decision was counted so far, and how often it has to be: once by hour, once by session."""
    made = (model.objects.using(db).aggregate(n=Sum("total"))["n"] or 0 for model in (GateHour, GateSessionSums))
    return sum(made), 2 * MemoryGateDecision.objects.using(db).count()


def sum_hours_after(db: str, made: int) -> tuple[SumChanges, int]:
    """What the next hours add up to, a piece of them, and the last of these hours; ALWAYS when there are no more."""
    after = {"created_at__gte": made + HOUR_MS}
    rows, last = _piece(_decisions(db, after), _failed(db, after), HOURS)
    changes = _changes(rows)
    changes.sessions.clear()
    return changes, ALWAYS if last is None else last


def sum_sessions_after(db: str, made: str) -> tuple[SumChanges, str | None]:
    """The same of sessions, by their ids; None when there are no more."""
    after = {"session_id__gt": made}
    rows, last = _piece(_decisions(db, after), _failed(db, after), SESSIONS)
    changes = _changes(rows)
    changes.hours.clear()
    return changes, last


def find_ended_days(made_before: int, made: int) -> tuple[int, int]:
    """The first and the last day that end between two hours: all their hours are made with the second one."""
    return (made_before + HOUR_MS) // DAY_MS * DAY_MS, (made + HOUR_MS) // DAY_MS * DAY_MS - DAY_MS


def count_sessions_by_day(db: str, start: int, end: int) -> dict[int, int]:
    """By day, how many sessions have a decision of it; from a day to before another one."""
    rows = MemoryGateDecision.objects.using(db).filter(created_at__gte=start, created_at__lt=end)
    by_day = rows.values(day=Cast(F("created_at") / DAY_MS, IntegerField()))
    counted = by_day.annotate(n=Count("session_id", distinct=True)).order_by()
    return {row["day"] * DAY_MS: row["n"] for row in counted}


def _make_hours(db, made):
    """The last hour that is made now."""
    changes, now = sum_hours_after(db, made)
    sum_tables.store_changes(db, changes)
    first, last = find_ended_days(made, now)
    days = set(GateDay.objects.using(db).filter(day__gte=first, day__lte=last).values_list("day", flat=True))
    if days:
        sum_tables.store_daily_stats(db, days, count_sessions_by_day(db, min(days), max(days) + DAY_MS))
    return now


def _make_sessions(db, made):
    """The last session that is made now; None when all are."""
    changes, now = sum_sessions_after(db, made)
    sum_tables.store_changes(db, changes)
    return now


def _decisions(db, after):
    return MemoryGateDecision.objects.using(db).filter(**after).values_list(*READ, named=True)


def _failed(db, after):
    rows = GateCall.objects.using(db).filter(**after, outcome__in=FAILED_OUTCOMES, replay_id=None)
    return rows.values_list(*READ_OF_CALL, named=True)


def _piece(decisions: QuerySet, calls: QuerySet, phase: _Phase) -> tuple[Iterable[Any], Group | None]:
    """The next rows of both, whole groups of them, and the last of these groups; None when nothing is left."""
    found = list(decisions.order_by(*phase.order)[: PIECE + 1])
    cut = [phase.group(found[-1])] if len(found) > PIECE else []  # a group that may go on behind the piece
    before = calls.filter(**{f"{phase.column}__lt": cut[0]}) if cut else calls
    failed = list(before.order_by(*phase.order)[: PIECE + 1])
    cut += [phase.group(failed[-1])] if len(failed) > PIECE else []
    if not cut:
        return chain(found, failed), None
    whole = [row for row in chain(found, failed) if phase.group(row) < min(cut)]
    if whole:
        return whole, max(map(phase.group, whole))
    first = min(cut)  # one group is a piece of its own
    return chain(*(rows.filter(**phase.bounds(first)).iterator() for rows in (decisions, calls))), first


def _changes(rows):
    changes = SumChanges()
    for row in rows:
        if hasattr(row, "outcome"):
            changes.add_failed(row)
        else:
            changes.add(row)
    return changes
