"""Sums of spans of time, computed from an agent's own file.

A span is a UTC day, `2026-02-21`, or one of its hours, `2026-02-21T05`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode, encode

from . import latency

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
AHEAD_MS = 40 * DAY_MS  # rows of a clock that is at most this far ahead count once their time has come
CLOSE = 1e-6  # dollars
MOST_MODELS = 12  # of one span; the rest is summed as one
OTHERS = ""  # the name of the rest
COUNTS = ("turn_count", "error_count", "total_tokens", "unpriced_tokens", "removed_turn_count", "removed_error_count")
WRITES = ("written_count", "rolled_back_count", "refused_count")
# What a turn and a record count for is as in `ledger.transcripts.rows`.
RECORDS = """
    SELECT created_at / 3600000, COALESCE(model, ''), SUM(is_failed), SUM(COALESCE(total_tokens, 0)), SUM(cost_usd),
        SUM(CASE WHEN cost_usd IS NULL THEN COALESCE(total_tokens, 0) ELSE 0 END)
    FROM transcript_events
    WHERE created_at >= %s AND created_at < %s AND NOT is_synthetic AND repeat_of IS NULL
    GROUP BY 1, 2
"""
TURNS = """
    SELECT created_at / 3600000, latency_ms FROM conversation_turns turns
    WHERE created_at >= %s AND created_at < %s AND is_active AND NOT EXISTS (
        SELECT 1 FROM transcript_events events WHERE events.session_id = turns.session_id
            AND events.seq = turns.first_seq AND events.repeat_of IS NOT NULL)
"""


@dataclass(slots=True)
class SpanSums:
    """The sums of one span; `models` has cost and unpriced tokens of each model."""

    counts: Counter[str] = field(default_factory=Counter)
    cost_usd: float | None = None
    latencies: latency.Counts = field(default_factory=Counter)
    models: dict[str, tuple[float, int]] = field(default_factory=dict)

    @classmethod
    def from_row(cls, row: Any) -> "SpanSums":
        """Return the sums of a row of any table that has them."""
        names = [name for name in (*COUNTS, *WRITES) if hasattr(row, name)]
        counts = Counter({name: getattr(row, name) for name in names})
        latencies = latency.merge_counts([getattr(row, "latency_json", "")])
        return cls(counts, getattr(row, "cost_usd", None), latencies, read_models(getattr(row, "models_json", "")))

    def add(self, other: "SpanSums", sign: int = 1) -> None:
        """Add other sums; a sign of -1 subtracts them."""
        for name, count in other.counts.items():
            self.counts[name] += sign * count
        if other.cost_usd is not None:
            self.cost_usd = round((self.cost_usd or 0) + sign * other.cost_usd, 9)
        for bucket, count in other.latencies.items():
            self.latencies[bucket] += sign * count
        for model, (cost, unpriced) in other.models.items():
            self._add_model(model, sign * cost, sign * unpriced)

    def _add_model(self, model, cost, unpriced):
        known_cost, known_unpriced = self.models.get(model, (0.0, 0))
        self.models[model] = round(known_cost + cost, 9), known_unpriced + unpriced

    def is_close_to(self, other: "SpanSums") -> bool:
        """Return whether both are equal, up to the order of adding costs."""
        models = self.models.keys() | other.models.keys()
        pairs = [(self.models.get(model, (0, 0)), other.models.get(model, (0, 0))) for model in models]
        return (
            +self.counts == +other.counts
            and +self.latencies == +other.latencies
            and abs((self.cost_usd or 0) - (other.cost_usd or 0)) < CLOSE
            and all(abs(mine[0] - its[0]) < CLOSE and mine[1] == its[1] for mine, its in pairs)
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns of a row of hours or of the site."""
        counts = {name: self.counts[name] for name in COUNTS}
        return {**counts, "cost_usd": self.cost_usd, **self.detail_columns()}

    def detail_columns(self) -> dict[str, str]:
        """Return the columns that no session of the agent's file has."""
        latencies = Counter({bucket: count for bucket, count in self.latencies.items() if count > 0})
        return {"latency_json": latency.pack_counts(latencies), "models_json": _pack_models(self.models)}


def read_models(text: str) -> dict[str, tuple[float, int]]:
    """Read the models of a column."""
    return {name: (cost, unpriced) for name, (cost, unpriced) in decode(text).items()}


def _pack_models(models):
    known = {name: pair for name, pair in models.items() if any(pair)}
    ranked = sorted(known, key=lambda name: (name == OTHERS, *(-part for part in known[name]), name))
    packed = {name: list(known[name]) for name in ranked[:MOST_MODELS]}
    rest = [known[name] for name in ranked[MOST_MODELS:]]
    if rest:
        cost, unpriced = packed.pop(OTHERS, [0, 0])
        packed[OTHERS] = [cost + sum(pair[0] for pair in rest), unpriced + sum(pair[1] for pair in rest)]
    return encode(packed)


def sum_hours(db: str, day: str) -> dict[str, SpanSums]:
    """Sum the hours of one day in an agent's file; hours without activity are left out."""
    start = start_of(day)
    hours: dict[str, SpanSums] = {}
    for hour, model, errors, tokens, cost, unpriced in statements.read_rows(db, RECORDS, [start, start + DAY_MS]):
        sums = hours.setdefault(hour_name(hour), SpanSums())
        sums.counts.update({"error_count": errors, "total_tokens": tokens, "unpriced_tokens": unpriced})
        if cost is not None:
            sums.cost_usd = (sums.cost_usd or 0) + cost
        if cost or unpriced:
            sums.models[model] = (cost or 0.0, unpriced)
    for hour, milliseconds in statements.iterate_rows(db, TURNS, [start, start + DAY_MS]):
        sums = hours.setdefault(hour_name(hour), SpanSums())
        sums.counts["turn_count"] += 1
        if milliseconds is not None:
            sums.latencies[latency.find_bucket(milliseconds)] += 1
    return hours


def sum_spans(spans: Iterable[SpanSums]) -> SpanSums:
    """Sum spans."""
    total = SpanSums()
    for span_sums in spans:
        total.add(span_sums)
    return total


def start_of(span: str) -> int:
    """Return the first millisecond of a day or an hour."""
    return round(datetime.fromisoformat(span).replace(tzinfo=UTC).timestamp() * 1000)


def hour_name(hour: int) -> str:
    """Return the span of an hour, counted from 1970."""
    return datetime.fromtimestamp(hour * 3600, UTC).strftime("%Y-%m-%dT%H")


def find_changes(before: Mapping[str, SpanSums], after: Mapping[str, SpanSums]) -> Iterator[tuple[str, SpanSums]]:
    """Yield the changes that turn the spans `before` into the spans `after`."""
    for span in before.keys() | after.keys():
        if before.get(span) != after.get(span):
            change = SpanSums()
            if span in after:
                change.add(after[span])
            if span in before:
                change.add(before[span], -1)
            yield span, change


def are_different(sums: Mapping[str, SpanSums], other_sums: Mapping[str, SpanSums]) -> bool:
    """Return whether the sums of any span differ by more than the order of adding explains."""
    no_sums = SpanSums()
    return any(
        not sums.get(span, no_sums).is_close_to(other_sums.get(span, no_sums))
        for span in sums.keys() | other_sums.keys()
    )


def is_day(span: str) -> bool:
    """Return whether a span is a whole day."""
    return len(span) == 10


def day_before(day: date, count: int) -> str:
    """Return the span of the day that is `count` days earlier."""
    return date.fromordinal(max(1, day.toordinal() - count)).isoformat()
