"""Sums of decisions: changed in the transaction that writes them, or made again from all of them with the same result.

With `memoryGateAuditing.enableStats` off there are none; the first write or look after it is on again makes them.
"""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Count, Sum

from openclaw_web import clock
from people.configuration import keys as configuration

from ..models import GateCall, GateHour, GateSessionSums, MemoryGateDecision, MemoryGateStats
from . import latency

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NANO = 1_000_000_000
SETTING = "memoryGateAuditing.enableStats"
COUNTS = {choice: f"{choice.lower()}_count" for choice in MemoryGateDecision.Decision.values}
NUMBERS = (
    *("total", *COUNTS.values(), "unseen_count", "failed_count", "latency_count", "latency_sum_ms"),
    *("token_count", "prompt_tokens", "completion_tokens", "cost_count", "cost_nano_usd"),
)
READ = (
    *("session_id", "decision", "llm_model", "prompt_version", "created_at", "saw_user"),
    *("llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"),
)
BATCH = 5_000
Row = Any  # a decision, or what has its columns
Place = tuple[Any, ...]


class Changes:
    """What is added to sums, and taken from them, by hour and by session."""

    def __init__(self) -> None:
        self.hours: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        self.sessions: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        self.latencies: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        self.moments: dict[str, list[int]] = {}

    def add(self, row: Row, sign: int = 1) -> None:
        """Count a decision in, or with -1 out."""
        found = Counter({name: sign * number for name, number in _numbers(row).items()})
        for sums, key in self._places(row):
            sums[key].update(found)
            if row.llm_latency_ms is not None:
                self.latencies[key][latency.bucket(row.llm_latency_ms)] += sign
        self.moments.setdefault(row.session_id, []).append(row.created_at)

    def add_failed(self, call: GateCall) -> None:
        """Count in a call that failed: nothing of it but that it did, and what it cost."""
        cost = {} if call.cost_usd is None else {"cost_count": 1, "cost_nano_usd": round(call.cost_usd * NANO)}
        for sums, key in self._places(call):
            sums[key].update({"failed_count": 1, **cost})
        self.moments.setdefault(call.session_id, []).append(call.created_at)

    def _places(self, row):
        hour = row.created_at - row.created_at % HOUR_MS
        yield self.hours, (hour, row.llm_model or "", row.prompt_version or "")
        yield self.sessions, (row.session_id,)


def is_on() -> bool:
    """Whether sums are kept."""
    return bool(configuration.get(SETTING))


def apply(db: str, changes: Changes, new_sessions: dict[str, int]) -> None:
    """Change the sums, in the caller's transaction. `new_sessions`: by day, sessions that had no decision that day."""
    if not is_on():
        clear(db)
        return
    if is_stale(db, changes):
        rebuild(db)
        return
    _change(db, GateHour, ("hour", "llm_model", "prompt_version"), changes.hours, changes.latencies, {})
    _change(db, GateSessionSums, ("session_id",), changes.sessions, changes.latencies, changes.moments)
    days = {hour - hour % DAY_MS for hour, _model, _prompt in changes.hours}
    for day in days:
        _derive_day(db, day, new_sessions.get(date_of(day), 0))


def rebuild(db: str) -> None:
    """Make all sums again from the decisions and the calls that failed."""
    with transaction.atomic(using=db):
        clear(db)
        changes = Changes()
        rows = MemoryGateDecision.objects.using(db).only("id", *READ)
        for row in rows.iterator(chunk_size=BATCH):
            changes.add(row)
        failed = (GateCall.Outcome.FAILED, GateCall.Outcome.MALFORMED)
        calls = GateCall.objects.using(db).filter(outcome__in=failed, replay_id=None).defer("raw_response")
        for call in calls.iterator(chunk_size=BATCH):
            changes.add_failed(call)
        _change(db, GateHour, ("hour", "llm_model", "prompt_version"), changes.hours, changes.latencies, {})
        _change(db, GateSessionSums, ("session_id",), changes.sessions, changes.latencies, changes.moments)
        for day in {hour - hour % DAY_MS for hour, _model, _prompt in changes.hours}:
            within = {"created_at__gte": day, "created_at__lt": day + DAY_MS}
            sessions = MemoryGateDecision.objects.using(db).filter(**within)
            _derive_day(db, day, sessions.aggregate(n=Count("session_id", distinct=True))["n"])


def clear(db: str) -> None:
    """Take all sums away."""
    for model in (GateHour, GateSessionSums, MemoryGateStats):
        model.objects.using(db).all().delete()


def is_stale(db: str, changes: Changes | None = None) -> bool:
    """Whether there are decisions and no sums of them: sums were off."""
    if GateHour.objects.using(db).exists():
        return False
    count = MemoryGateDecision.objects.using(db).count()
    new = sum(found["total"] for found in changes.hours.values()) if changes else 0
    return count > new


def settle(db: str) -> None:
    """Make the sums when they are on and there are none."""
    if is_on() and is_stale(db):
        rebuild(db)


def date_of(moment: int) -> str:
    """The UTC day of a moment in milliseconds, as YYYY-MM-DD."""
    return datetime.fromtimestamp(moment / 1000, UTC).date().isoformat()


def _numbers(row):
    found = {"total": 1, COUNTS[row.decision]: 1, "unseen_count": int(row.saw_user is False)}
    if row.llm_latency_ms is not None:
        found |= {"latency_count": 1, "latency_sum_ms": row.llm_latency_ms}
    if row.prompt_tokens is not None or row.completion_tokens is not None:
        found |= {"token_count": 1, "prompt_tokens": row.prompt_tokens or 0}
        found |= {"completion_tokens": row.completion_tokens or 0}
    if row.cost_usd is not None:
        found |= {"cost_count": 1, "cost_nano_usd": round(row.cost_usd * NANO)}
    return found


def _change(db, model, key, sums, latencies, moments):
    """Add to the rows of these keys; rows that are not there begin at nothing."""
    stored = _stored(db, model, key, sums)
    rows = []
    for place, found in sums.items():
        row = stored.get(place) or model(**dict(zip(key, place, strict=True)))
        for name in NUMBERS:
            setattr(row, name, getattr(row, name) + found[name])
        histogram = latency.merged(orjson.loads(row.latency_json), latencies.get(place, {}))
        row.latency_json = orjson.dumps(histogram).decode()
        if model is GateSessionSums:
            at = moments[place[0]]
            row.first_at = min([*at, *([row.first_at] if place in stored else [])])
            row.last_at = max([*at, *([row.last_at] if place in stored else [])])
        rows.append(row)
    others = [*NUMBERS, "latency_json", *(["first_at", "last_at"] if model is GateSessionSums else [])]
    model.objects.using(db).bulk_create(
        rows, update_conflicts=True, unique_fields=list(key), update_fields=others, batch_size=500
    )


def _stored(db, model, key, sums):
    first = {place[0] for place in sums}
    found = {}
    names = sorted(first)
    for start in range(0, len(names), BATCH):
        rows = model.objects.using(db).filter(**{f"{key[0]}__in": names[start : start + BATCH]})
        found |= {tuple(getattr(row, name) for name in key): row for row in rows}
    return found


def _derive_day(db, day, new_sessions):
    """`memory_gate_stats` of a day, from its hours."""
    names = ("total", *COUNTS.values(), "latency_count", "latency_sum_ms")
    hours = GateHour.objects.using(db).filter(hour__gte=day, hour__lt=day + DAY_MS)
    found = hours.aggregate(**{f"sum_{name}": Sum(name) for name in names})
    found = {name: found[f"sum_{name}"] or 0 for name in names}
    date = date_of(day)
    before = MemoryGateStats.objects.using(db).filter(date=date).first()
    count = found.pop("latency_count")
    latency_sum = found.pop("latency_sum_ms")
    MemoryGateStats.objects.using(db).update_or_create(
        date=date,
        defaults={
            "session_count": (before.session_count if before else 0) + new_sessions,
            "total_decisions": found.pop("total"),
            **found,
            "avg_latency_ms": round(latency_sum / count) if count else None,
            "updated_at": clock.now_ms(),
        },
    )
