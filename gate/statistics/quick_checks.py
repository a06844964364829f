"""Checks sums against decisions and failed calls, counted by SQLite.

This is another way than the one that builds the sums.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Count, F, FloatField, IntegerField, Max, Min, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Coalesce, Greatest, Least

from openclaw_web.sqlite import statements

from ..models import GateCall, GateDay, GateHour, GateSessionSums, MemoryGateDecision, MemoryGateStats
from .sum_changes import COUNT_COLUMNS, DAY_MS, FAILED_OUTCOMES, FAILURE_COLUMNS, HOUR_MS, MAX_ADDED, NANO
from .sum_tables import date_of, is_empty
from .sums import is_complete, is_on


def _bounded(name):
    return Greatest(Value(0), Least(F(name), Value(MAX_ADDED)), output_field=IntegerField())


TOKENS_KNOWN = Q(prompt_tokens__isnull=False) | Q(completion_tokens__isnull=False)
COST = Greatest(Value(0.0), Least(F("cost_usd"), Value(MAX_ADDED / NANO)), output_field=FloatField())
OF_DECISIONS = {
    "total": Count("id"),
    **{name: Count("id", filter=Q(decision=choice)) for choice, name in COUNT_COLUMNS.items()},
    "unseen_count": Count("id", filter=Q(saw_user=False)),
    "latency_count": Count("llm_latency_ms"),
    "latency_sum_ms": Coalesce(Sum(_bounded("llm_latency_ms")), 0),
    "token_count": Count("id", filter=TOKENS_KNOWN),
    "prompt_tokens": Coalesce(Sum(_bounded("prompt_tokens")), 0),
    "completion_tokens": Coalesce(Sum(_bounded("completion_tokens")), 0),
}
OF_CALLS = {name: Count("id", filter=Q(outcome=outcome)) for outcome, name in FAILURE_COLUMNS.items()}
OF_BOTH = {"cost_count": Count("cost_usd"), "cost_usd": Coalesce(Sum(COST), 0.0)}
MOMENTS = {"first_at": Min("created_at"), "last_at": Max("created_at")}
Place = tuple[Any, ...]
Totals = dict[Place, dict[str, Any]]


def find_differences(db: str) -> Iterator[str]:
    """Yield the wrong rows of sums, as `table key`.

    None while sums are off, or being built. Of histograms only the number of latencies is compared.
    """
    with statements.read_transaction(db):
        if not is_on() or not is_complete(db) or is_empty(db):
            return
        yield from _check_times(db, GateHour, "hour", HOUR_MS)
        yield from _check_times(db, GateDay, "day", DAY_MS)
        yield from _check_sessions(db)
        yield from _check_days(db)


def _check_times(db, model, key, length) -> Iterator[str]:
    empty = Value("", output_field=TextField())
    keys = {
        "at_time": F("created_at") - F("created_at") % length,
        "model": Coalesce("llm_model", empty),
        "prompt": Coalesce("prompt_version", empty),
    }
    expected = _add_up(db, lambda rows: rows.annotate(**keys).values_list(*keys), {})
    yield from _find_different(model, (key, "llm_model", "prompt_version"), db, expected)


def _check_sessions(db) -> Iterator[str]:
    expected = _add_up(db, lambda rows: rows.values_list("session_id"), MOMENTS)
    yield from _find_different(GateSessionSums, ("session_id",), db, expected)


def _add_up(db, by: Callable[[QuerySet], QuerySet], more) -> Totals:
    """Sum decisions and failed calls by key."""
    totals: Totals = {}
    for rows, sums in (
        (MemoryGateDecision.objects.using(db), OF_DECISIONS),
        (GateCall.objects.using(db).filter(outcome__in=FAILED_OUTCOMES, replay_id=None), OF_CALLS),
    ):
        sums = {**sums, **OF_BOTH, **more}
        names = tuple(sums)
        for row in by(rows.order_by()).annotate(**_prefix_names(sums)).iterator():
            key, values = row[: -len(names)], dict(zip(names, row[-len(names) :], strict=True))
            known = totals.setdefault(key, {})
            for name, value in values.items():
                add = {"first_at": min, "last_at": max}.get(
                    name, lambda value_before, value_now: value_before + value_now
                )
                known[name] = add(known[name], value) if name in known else value
    return totals


def _prefix_names(sums):
    """Return the sums under names that no column has."""
    return {f"sum_{name}": sum_of for name, sum_of in sums.items()}


def _find_different(model, key, db, expected: Totals) -> Iterator[str]:
    stored = {tuple(getattr(row, name) for name in key): row for row in model.objects.using(db).iterator()}
    for row_key in sorted(stored.keys() | expected.keys()):
        row = stored.get(row_key)
        if row is None or row_key not in expected or _is_different(row, expected[row_key]):
            yield " ".join([model._meta.db_table, *map(str, row_key)])


def _is_different(row, expected):
    cost = expected["cost_usd"] * NANO
    if abs(row.cost_nano_usd - cost) > expected["cost_count"] + 1:  # each cost is rounded before it is added
        return True
    if sum(row.latencies.values()) != expected.get("latency_count", 0):
        return True
    names = (*OF_DECISIONS, *OF_CALLS, "cost_count", *(name for name in MOMENTS if name in expected))
    return any(getattr(row, name) != expected.get(name, 0) for name in names)


def _check_days(db) -> Iterator[str]:
    """Yield wrong rows of `memory_gate_stats`.

    A day with failed calls and no decisions may have a row of zeros.
    """
    rows = MemoryGateDecision.objects.using(db).order_by().annotate(day=F("created_at") - F("created_at") % DAY_MS)
    sums = {"session_count": Count("session_id", distinct=True), "total_decisions": Count("id")}
    sums |= {name: OF_DECISIONS[name] for name in COUNT_COLUMNS.values()}
    expected = {
        date_of(day): dict(zip(sums, values, strict=True)) for day, *values in rows.values_list("day").annotate(**sums)
    }
    stored = {row.date: row for row in MemoryGateStats.objects.using(db)}
    for date in sorted(stored.keys() | expected.keys()):
        stored_row = stored.get(date)
        if stored_row is None or any(getattr(stored_row, name) != expected.get(date, {}).get(name, 0) for name in sums):
            yield f"{MemoryGateStats._meta.db_table} {date}"
