"""Rebuilds sums from all decisions in batches, each a short transaction.

Decisions may be stored meanwhile. The hours come first, the oldest first, then the sessions by their ids. A decision
that is stored meanwhile is added at once where the sums are built already; elsewhere it is read with the rest.
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
NOTHING = (NEVER, "")  # the state when no sums are built
PIECE = 5_000  # rows
READ = (
    *("session_id", "decision", "llm_model", "prompt_version", "created_at", "saw_user"),
    *("llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"),
)
READ_OF_CALL = ("session_id", "llm_model", "prompt_version", "created_at", "cost_usd", "outcome", "replay_id")
Group = Any  # an hour, or the id of a session


@dataclass(frozen=True, slots=True)
class _Phase:
    """The grouping of rows into batches.

    All rows that share a value of `group` belong into one batch.
    """

    column: str
    order: tuple[str, ...]
    group: Callable[[Any], Group]
    bounds: Callable[[Group], dict[str, Any]]  # the filters for the rows of a group


def _get_hour(row):
    return row.created_at - row.created_at % HOUR_MS


HOURS = _Phase("created_at", ("created_at",), _get_hour, lambda hour: {"created_at__range": (hour, hour + HOUR_MS - 1)})
SESSIONS = _Phase(
    "session_id", ("session_id", "created_at"), lambda row: row.session_id, lambda name: {"session_id": name}
)


def reset_sums(db: str) -> tuple[int, str]:
    """Remove the sums and note that they are to be built; returns the new state.

    Must be called in a transaction.
    """
    if sum_tables.read_state(db) != NOTHING:
        sum_tables.clear(db)
        GateSumsState.objects.using(db).create(hours_made=NEVER, sessions_made="")
    return NOTHING


def run_step(db: str) -> bool:
    """Build the next batch, and return whether there may be another one.

    Several processes may call this at once.
    """
    with transaction.atomic(using=db):
        state = sum_tables.read_state(db)
        if state is None:
            return False
        hour, session_id = state
        if hour < ALWAYS:
            new_state: tuple[int, str] | None = (_build_hours(db, hour), "")
        else:
            last_session = _build_sessions(db, session_id)
            new_state = None if last_session is None else (ALWAYS, last_session)
        row = GateSumsState.objects.using(db)
        if new_state is None:
            row.all().delete()
        else:
            row.update(hours_made=new_state[0], sessions_made=new_state[1])
        return new_state is not None


def is_small(db: str) -> bool:
    """Return whether there are so few decisions and calls that no job is needed."""
    counts = (sum_tables.count_up_to(db, model, PIECE + 1) for model in (MemoryGateDecision, GateCall))
    return sum(counts) <= PIECE


def count_progress(db: str) -> tuple[int, int]:
    """Return how many times decisions were counted so far, and how many times in all.

    Each decision is counted once by hour, and once by session.
    """
    counts = (model.objects.using(db).aggregate(n=Sum("total"))["n"] or 0 for model in (GateHour, GateSessionSums))
    return sum(counts), 2 * MemoryGateDecision.objects.using(db).count()


def sum_hours_after(db: str, built_hour: int) -> tuple[SumChanges, int]:
    """Return the changes of the next batch of hours, and the last of these hours.

    The hour is ALWAYS when there are no more.
    """
    after = {"created_at__gte": built_hour + HOUR_MS}
    rows, last = _read_batch(_select_decisions(db, after), _select_failed_calls(db, after), HOURS)
    changes = _sum_rows(rows)
    changes.sessions.clear()
    return changes, ALWAYS if last is None else last


def sum_sessions_after(db: str, built_session: str) -> tuple[SumChanges, str | None]:
    """Return the changes of the next batch of sessions, and the last of these sessions.

    Sessions are in the order of their ids. The session is None when there are no more.
    """
    after = {"session_id__gt": built_session}
    rows, last = _read_batch(_select_decisions(db, after), _select_failed_calls(db, after), SESSIONS)
    changes = _sum_rows(rows)
    changes.hours.clear()
    return changes, last


def find_ended_days(previous_hour: int, hour: int) -> tuple[int, int]:
    """Return the first and the last day that end between two hours.

    All hours of these days are built when the second hour is.
    """
    return (previous_hour + HOUR_MS) // DAY_MS * DAY_MS, (hour + HOUR_MS) // DAY_MS * DAY_MS - DAY_MS


def count_sessions_by_day(db: str, start: int, end: int) -> dict[int, int]:
    """Return by day how many sessions have a decision; from `start` to before `end`."""
    rows = MemoryGateDecision.objects.using(db).filter(created_at__gte=start, created_at__lt=end)
    by_day = rows.values(day=Cast(F("created_at") / DAY_MS, IntegerField()))
    counted = by_day.annotate(n=Count("session_id", distinct=True)).order_by()
    return {row["day"] * DAY_MS: row["n"] for row in counted}


def _build_hours(db, built_hour):
    """Build a batch of hours, and return the last of them."""
    changes, last_hour = sum_hours_after(db, built_hour)
    sum_tables.store_changes(db, changes)
    first, last = find_ended_days(built_hour, last_hour)
    days = set(GateDay.objects.using(db).filter(day__gte=first, day__lte=last).values_list("day", flat=True))
    if days:
        sum_tables.store_daily_stats(db, days, count_sessions_by_day(db, min(days), max(days) + DAY_MS))
    return last_hour


def _build_sessions(db, built_session):
    """Build a batch of sessions, and return the last of them; None at the end."""
    changes, last_session = sum_sessions_after(db, built_session)
    sum_tables.store_changes(db, changes)
    return last_session


def _select_decisions(db, after):
    return MemoryGateDecision.objects.using(db).filter(**after).values_list(*READ, named=True)


def _select_failed_calls(db, after):
    rows = GateCall.objects.using(db).filter(**after, outcome__in=FAILED_OUTCOMES, replay_id=None)
    return rows.values_list(*READ_OF_CALL, named=True)


def _read_batch(decisions: QuerySet, calls: QuerySet, phase: _Phase) -> tuple[Iterable[Any], Group | None]:
    """Return the next rows of both, whole groups of them, and the last of these groups.

    The group is None when these are the last rows.
    """
    decision_rows = list(decisions.order_by(*phase.order)[: PIECE + 1])
    cut_groups = (
        [phase.group(decision_rows[-1])] if len(decision_rows) > PIECE else []
    )  # a group whose rows may continue after the batch
    before = calls.filter(**{f"{phase.column}__lt": cut_groups[0]}) if cut_groups else calls
    call_rows = list(before.order_by(*phase.order)[: PIECE + 1])
    cut_groups += [phase.group(call_rows[-1])] if len(call_rows) > PIECE else []
    if not cut_groups:
        return chain(decision_rows, call_rows), None
    complete = [row for row in chain(decision_rows, call_rows) if phase.group(row) < min(cut_groups)]
    if complete:
        return complete, max(map(phase.group, complete))
    first = min(cut_groups)  # a group that is larger than a batch is read by itself
    return chain(*(rows.filter(**phase.bounds(first)).iterator() for rows in (decisions, calls))), first


def _sum_rows(rows):
    changes = SumChanges()
    for row in rows:
        if hasattr(row, "outcome"):
            changes.add_failed(row)
        else:
            changes.add(row)
    return changes
