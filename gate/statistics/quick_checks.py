"""Whether sums are what decisions and failed calls add up to: counted by SQLite, not in the way they are made."""

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
Found = dict[Place, dict[str, Any]]


def find_differences(db: str) -> Iterator[str]:
    """The rows of sums that are not what decisions add up to, as `table key`; none while sums are off, or being made.

    Of histograms only the number of latencies is compared.
    """
    with statements.read_transaction(db):
        if not is_on() or not is_complete(db) or is_empty(db):
            return
        yield from _of_times(db, GateHour, "hour", HOUR_MS)
        yield from _of_times(db, GateDay, "day", DAY_MS)
        yield from _sessions(db)
        yield from _days(db)


def _of_times(db, model, key, length) -> Iterator[str]:
    empty = Value("", output_field=TextField())
    keys = {
        "at_time": F("created_at") - F("created_at") % length,
        "model": Coalesce("llm_model", empty),
        "prompt": Coalesce("prompt_version", empty),
    }
    wanted = _added(db, lambda rows: rows.annotate(**keys).values_list(*keys), {})
    yield from _unlike(model, (key, "llm_model", "prompt_version"), db, wanted)


def _sessions(db) -> Iterator[str]:
    wanted = _added(db, lambda rows: rows.values_list("session_id"), MOMENTS)
    yield from _unlike(GateSessionSums, ("session_id",), db, wanted)


def _added(db, by: Callable[[QuerySet], QuerySet], more) -> Found:
    """What decisions and failed calls add up to, by place."""
    found: Found = {}
    for rows, sums in (
        (MemoryGateDecision.objects.using(db), OF_DECISIONS),
        (GateCall.objects.using(db).filter(outcome__in=FAILED_OUTCOMES, replay_id=None), OF_CALLS),
    ):
        sums = {**sums, **OF_BOTH, **more}
        names = tuple(sums)
        for row in by(rows.order_by()).annotate(**_apart(sums)).iterator():
            place, values = row[: -len(names)], dict(zip(names, row[-len(names) :], strict=True))
            before = found.setdefault(place, {})
            for name, value in values.items():
                add = {"first_at": min, "last_at": max}.get(name, lambda one, other: one + other)
                before[name] = add(before[name], value) if name in before else value
    return found


def _apart(sums):
    """Under names that are no columns."""
    return {f"sum_{name}": sum_of for name, sum_of in sums.items()}


def _unlike(model, key, db, wanted: Found) -> Iterator[str]:
    stored = {tuple(getattr(row, name) for name in key): row for row in model.objects.using(db).iterator()}
    for place in sorted(stored.keys() | wanted.keys()):
        row = stored.get(place)
        if row is None or place not in wanted or _differs(row, wanted[place]):
            yield " ".join([model._meta.db_table, *map(str, place)])


def _differs(row, wanted):
    cost = wanted["cost_usd"] * NANO
    if abs(row.cost_nano_usd - cost) > wanted["cost_count"] + 1:  # each cost was rounded by itself
        return True
    if sum(row.latencies.values()) != wanted.get("latency_count", 0):
        return True
    names = (*OF_DECISIONS, *OF_CALLS, "cost_count", *(name for name in MOMENTS if name in wanted))
    return any(getattr(row, name) != wanted.get(name, 0) for name in names)


def _days(db) -> Iterator[str]:
    """`memory_gate_stats`; a day on which calls failed and nothing was decided may have a row of zeros."""
    rows = MemoryGateDecision.objects.using(db).order_by().annotate(day=F("created_at") - F("created_at") % DAY_MS)
    sums = {"session_count": Count("session_id", distinct=True), "total_decisions": Count("id")}
    sums |= {name: OF_DECISIONS[name] for name in COUNT_COLUMNS.values()}
    wanted = {
        date_of(day): dict(zip(sums, values, strict=True)) for day, *values in rows.values_list("day").annotate(**sums)
    }
    stored = {row.date: row for row in MemoryGateStats.objects.using(db)}
    for date in sorted(stored.keys() | wanted.keys()):
        known = stored.get(date)
        if known is None or any(getattr(known, name) != wanted.get(date, {}).get(name, 0) for name in sums):
            yield f"{MemoryGateStats._meta.db_table} {date}"
