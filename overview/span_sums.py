"""Sums of spans of time: the SQL that computes them, and rows of them as pages add them up.

A span is a UTC day, `2026-02-21`, or one of its hours, `2026-02-21T05`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from openclaw_web.sqlite.json_columns import decode

from . import latency

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
AHEAD_MS = 40 * DAY_MS  # rows of a clock that is at most this far ahead count once their time has come
CLOSE = 1e-6  # dollars
MOST_MODELS = 12  # of one span; the rest is summed as one
OTHERS = ""  # the name of the rest
COUNTS = ("turn_count", "error_count", "total_tokens", "unpriced_tokens", "removed_turn_count", "removed_error_count")
WRITES = ("written_count", "rolled_back_count", "refused_count")
DETAILS = ("latency_json", "models_json")
# The start of the hour of a row in milliseconds, and the span of such an hour; the day is its first ten characters.
HOUR = f"created_at - (created_at % {HOUR_MS} + {HOUR_MS}) % {HOUR_MS}".replace("%", "%%")
HOUR_SPAN = "strftime('%%Y-%%m-%%dT%%H', hour / 1000, 'unixepoch')"
LATENCIES = """
    SELECT span, json_group_object(CAST(bucket AS TEXT), counted) AS latency_json FROM (
        SELECT span, bucket, SUM(counted) AS counted FROM buckets GROUP BY span, bucket HAVING SUM(counted) > 0)
    GROUP BY span
"""
MODELS = f"""
    SELECT span, json_group_object(model, json_array(cost, unpriced)) AS models_json FROM (
        SELECT span, CASE WHEN place <= {MOST_MODELS} THEN model ELSE '{OTHERS}' END AS model,
            ROUND(SUM(cost), 9) AS cost, SUM(unpriced) AS unpriced
        FROM (
            SELECT span, model, SUM(cost) AS cost, SUM(unpriced) AS unpriced, ROW_NUMBER() OVER (
                PARTITION BY span ORDER BY model = '{OTHERS}', ROUND(SUM(cost), 9) DESC, SUM(unpriced) DESC, model
            ) AS place
            FROM models GROUP BY span, model HAVING ROUND(SUM(cost), 9) <> 0 OR SUM(unpriced) <> 0)
        GROUP BY span, CASE WHEN place <= {MOST_MODELS} THEN model ELSE '{OTHERS}' END)
    GROUP BY span
"""  # noqa: S608


def add_up(tables: Mapping[str, str], columns: Sequence[str]) -> str:
    """Return the SQL that adds up, by span, `columns` and the cost of a table `parts`, with DETAILS after them.

    `tables` has the SQL of `parts`, of `buckets` (span, bucket, counted), of `models` (span, model, cost, unpriced),
    and of what these read.
    """
    texts = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, sql in tables.items())
    sums = ", ".join(f"SUM({name}) AS {name}" for name in columns)
    return f"""
        WITH {texts}, latencies AS MATERIALIZED ({LATENCIES}), of_models AS MATERIALIZED ({MODELS})
        SELECT span, {", ".join(columns)}, cost_usd, COALESCE(latency_json, '{{}}'), COALESCE(models_json, '{{}}')
        FROM (SELECT span, {sums}, ROUND(SUM(cost_usd), 9) AS cost_usd FROM parts GROUP BY span)
        LEFT JOIN latencies USING (span) LEFT JOIN of_models USING (span)
    """  # noqa: S608


@dataclass(slots=True)
class SpanSums:
    """The sums of one span; `models` has cost and unpriced tokens of each model."""

    counts: Counter[str] = field(default_factory=Counter)
    cost_usd: float | None = None
    latencies: latency.Counts = field(default_factory=Counter)
    models: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, other: "SpanSums") -> None:
        """Add other sums."""
        self.counts.update(other.counts)
        if other.cost_usd is not None:
            self.cost_usd = round((self.cost_usd or 0) + other.cost_usd, 9)
        self.latencies.update(other.latencies)
        for model, (cost, unpriced) in other.models.items():
            known_cost, known_unpriced = self.models.get(model, (0.0, 0))
            self.models[model] = round(known_cost + cost, 9), known_unpriced + unpriced


def read_models(text: str) -> dict[str, tuple[float, int]]:
    """Read the models of a column."""
    return {name: (cost, unpriced) for name, (cost, unpriced) in decode(text).items()}


def have_differences(columns: Sequence[str], rows: Iterable[Sequence[Any]], others: Iterable[Sequence[Any]]) -> bool:
    """Return whether the numbers in rows of spans differ by more than the order of adding costs explains.

    The first column is the span. A row that is missing is one of zeros.
    """
    spans, other_spans = ({row[0]: _read_numbers(columns, row) for row in each} for each in (rows, others))
    for span in spans.keys() | other_spans.keys():
        numbers, other_numbers = spans.get(span, {}), other_spans.get(span, {})
        for name in numbers.keys() | other_numbers.keys():
            if is_different(numbers.get(name, 0), other_numbers.get(name, 0), CLOSE):
                return True
    return False


def is_different(value: Any, other: Any, close: float) -> bool:
    """Return whether two values of a column differ; costs are compared with a tolerance."""
    if isinstance(value, float | int) and isinstance(other, float | int) and float in (type(value), type(other)):
        return abs(value - other) > close * max(1, abs(value))
    return bool(value != other)


def _read_numbers(columns, row):
    numbers: dict[Any, Any] = {}
    for name, value in zip(columns[1:], row[1:], strict=True):
        if name in DETAILS:
            for key, part in decode(value).items():
                numbers |= {
                    (name, key, place): number for place, number in enumerate(part if name == "models_json" else [part])
                }
        else:
            numbers[name] = value or 0
    return numbers


def start_of(span: str) -> int:
    """Return the first millisecond of a day or an hour."""
    return round(datetime.fromisoformat(span).replace(tzinfo=UTC).timestamp() * 1000)


def hour_name(hour: int) -> str:
    """Return the span of an hour, counted from 1970."""
    return datetime.fromtimestamp(hour * 3600, UTC).strftime("%Y-%m-%dT%H")


def day_before(day: str, count: int) -> str:
    """Return the span of the day that is `count` days earlier."""
    return date.fromordinal(max(1, date.fromisoformat(day).toordinal() - count)).isoformat()
