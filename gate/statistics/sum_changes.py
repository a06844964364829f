"""Changes of the sums by decisions and failed calls, counted without the database."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from ..models import GateCall, MemoryGateDecision
from . import latency

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NANO = 1_000_000_000
# The most that one decision adds (31 years, a trillion tokens, 1,000 dollars): sums of millions still fit a column.
MAX_ADDED = 10**12
COUNT_COLUMNS = {choice: f"{choice.lower()}_count" for choice in MemoryGateDecision.Decision.values}
NUMBER_COLUMNS = (
    *("total", *COUNT_COLUMNS.values(), "unseen_count", "failed_count", "malformed_count"),
    *("latency_count", "latency_sum_ms", "token_count", "prompt_tokens", "completion_tokens"),
    *("cost_count", "cost_nano_usd"),
)
NUMBER_INDEX = {name: number for number, name in enumerate(NUMBER_COLUMNS)}
FAILURE_COLUMNS = {GateCall.Outcome.FAILED: "failed_count", GateCall.Outcome.MALFORMED: "malformed_count"}
FAILED_OUTCOMES = tuple(FAILURE_COLUMNS)
Row = Any  # a decision or a call, or an object with the same columns
SumKey = tuple[Any, ...]  # the key of a row of sums


class Sum:
    """A row of sums: `numbers` in the order of NUMBER_COLUMNS, and a histogram of latencies."""

    __slots__ = ("is_less", "latencies", "numbers")

    def __init__(self) -> None:
        self.numbers = [0] * len(NUMBER_COLUMNS)
        self.latencies: dict[str, int] = {}
        self.is_less = False  # whether a decision was subtracted

    @property
    def total(self) -> int:
        """Return the number of decisions."""
        return self.numbers[NUMBER_INDEX["total"]]

    @property
    def failed(self) -> int:
        """Return the number of calls that were no decision."""
        return self.numbers[NUMBER_INDEX["failed_count"]] + self.numbers[NUMBER_INDEX["malformed_count"]]

    def add(self, numbers: list[tuple[int, int]], bucket: str | None, sign: int) -> None:
        """Add numbers by their index, and a latency by its bucket."""
        for index, number in numbers:
            self.numbers[index] += sign * number
        if bucket is not None:
            self.latencies[bucket] = self.latencies.get(bucket, 0) + sign
        self.is_less |= sign < 0

    def merge(self, other: "Sum") -> None:
        """Add another row of sums."""
        self.numbers = [number + other_number for number, other_number in zip(self.numbers, other.numbers, strict=True)]
        latency.add(self.latencies, other.latencies)
        self.is_less |= other.is_less


class SumChanges:
    """Changes of sums: by hour, model and prompt, and by session.

    `moments` are the first and the last moment that was added to each session, `visits` the number of decisions that
    were added or subtracted by day and session.
    """

    def __init__(self) -> None:
        self.hours: defaultdict[SumKey, Sum] = defaultdict(Sum)
        self.sessions: defaultdict[SumKey, Sum] = defaultdict(Sum)
        self.moments: dict[str, tuple[int, int]] = {}
        self.visits: Counter[tuple[int, str]] = Counter()

    def add(self, row: Row, sign: int = 1) -> None:
        """Add a decision, or subtract it with -1, with the values that were added."""
        bucket = None if row.llm_latency_ms is None else latency.bucket(_bounded(row.llm_latency_ms))
        self._add(row, _list_numbers(row), bucket, sign)
        self.visits[row.created_at - row.created_at % DAY_MS, row.session_id] += sign

    def add_failed(self, call: Row, sign: int = 1) -> None:
        """Add a call that failed, or subtract it with -1: its failure and its cost.

        A call that did not fail, or that a replay made, is not counted.
        """
        if call.outcome in FAILED_OUTCOMES and call.replay_id is None:
            self._add(call, [(NUMBER_INDEX[FAILURE_COLUMNS[call.outcome]], 1), *_list_cost_numbers(call)], None, sign)

    def _add(self, row, numbers, bucket, sign):
        hour = row.created_at - row.created_at % HOUR_MS
        self.hours[hour, row.llm_model or "", row.prompt_version or ""].add(numbers, bucket, sign)
        self.sessions[(row.session_id,)].add(numbers, bucket, sign)
        if sign > 0:
            first, last = self.moments.get(row.session_id, (row.created_at, row.created_at))
            self.moments[row.session_id] = min(first, row.created_at), max(last, row.created_at)

    @property
    def is_less(self) -> bool:
        """Return whether a decision is subtracted."""
        return any(row_sum.is_less for row_sum in self.sessions.values())

    @property
    def days(self) -> Mapping[SumKey, Sum]:
        """Return the changes of `hours`, summed by day."""
        day_sums: defaultdict[SumKey, Sum] = defaultdict(Sum)
        for (hour, model, prompt), row_sum in self.hours.items():
            day_sums[hour - hour % DAY_MS, model, prompt].merge(row_sum)
        return day_sums

    def until(self, hour: int, session_id: str) -> "SumChanges":
        """Return the changes of hours and sessions up to these."""
        part = SumChanges()
        part.hours.update({key: row_sum for key, row_sum in self.hours.items() if key[0] <= hour})
        part.sessions.update({key: row_sum for key, row_sum in self.sessions.items() if key[0] <= session_id})
        part.moments = {name: ends for name, ends in self.moments.items() if name <= session_id}
        ended = {visit: n for visit, n in self.visits.items() if visit[0] + DAY_MS <= hour + HOUR_MS}
        part.visits.update(ended)
        return part


def _list_numbers(row):
    numbers = [(0, 1), (NUMBER_INDEX[COUNT_COLUMNS[row.decision]], 1)]
    if row.saw_user is False:
        numbers.append((NUMBER_INDEX["unseen_count"], 1))
    if row.llm_latency_ms is not None:
        numbers += [(NUMBER_INDEX["latency_count"], 1), (NUMBER_INDEX["latency_sum_ms"], _bounded(row.llm_latency_ms))]
    if row.prompt_tokens is not None or row.completion_tokens is not None:
        numbers += [
            (NUMBER_INDEX["token_count"], 1),
            (NUMBER_INDEX["prompt_tokens"], _bounded(row.prompt_tokens or 0)),
            (NUMBER_INDEX["completion_tokens"], _bounded(row.completion_tokens or 0)),
        ]
    return numbers + _list_cost_numbers(row)


def _list_cost_numbers(row):
    if row.cost_usd is None:
        return []
    nano = round(
        max(0.0, min(row.cost_usd, MAX_ADDED / NANO)) * NANO
    )  # a whole number, so that any order of adding gives the same sum
    return [(NUMBER_INDEX["cost_count"], 1), (NUMBER_INDEX["cost_nano_usd"], nano)]


def _bounded(number):
    return max(0, min(number, MAX_ADDED))
