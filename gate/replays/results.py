"""Results of a replay: agreement, latency and cost of both gates, and who is right."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum

from ..models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from . import job

Outcome = GateReplayDecision.Outcome
DECISIONS = tuple(MemoryGateDecision.Decision.values)
CHUNK = 500
HEAT_LEVELS = 5  # shades of a cell of the matrix
NUMBERS = ("llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True, slots=True)
class Side:
    """Latency, tokens and cost of the decisions of one gate.

    None where no decision has the value. `known` is the number of decisions with a known cost.
    """

    p50: int | None
    p95: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    known: int


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a replay so far.

    `matrix` counts the replayed decisions by the original and the new decision. `outcomes` has every outcome;
    `original` and `replay` are about the replayed decisions. `spent_usd` and `spent_tokens` are of all calls of the
    replay, failed ones included.
    """

    outcomes: dict[str, int]
    decided: int
    agreed: int
    matrix: dict[tuple[str, str], int]
    original: Side
    replay: Side
    calls: int
    spent_tokens: int
    spent_usd: float | None

    @property
    def agreement(self) -> float | None:
        """Return the share of decisions on which both gates agree; None while there is none."""
        return self.agreed / self.decided if self.decided else None

    @property
    def used(self) -> list[str]:
        """Return the decisions that occur on either side, in the order of the spec."""
        names = {name for pair in self.matrix for name in pair}
        return [name for name in DECISIONS if name in names]

    @property
    def cells(self) -> list[tuple[str, list[tuple[str, int, int]], int]]:
        """Return the rows of the matrix, the most frequent original first.

        A row has the original, for each decision its count and heat (0 to 5), and the sum of the counts.
        """
        most = max(self.matrix.values(), default=0)

        def heat(count):
            return -(-count * HEAT_LEVELS // most) if most else 0

        rows = []
        for original in self.used:
            counts = [self.matrix.get((original, name), 0) for name in self.used]
            cells = [(name, count, heat(count)) for name, count in zip(self.used, counts, strict=True)]
            rows.append((original, cells, sum(counts)))
        return sorted(rows, key=lambda row: -row[2])


@dataclass(frozen=True, slots=True)
class Measure:
    """How often a gate made one decision, and was right with it.

    `predicted` counts the decisions that the gate made, `expected` those that would have been right.
    """

    predicted: int
    right: int
    expected: int

    @property
    def precision(self) -> float | None:
        """Return the share of the gate's decisions that is right."""
        return self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """Return the share of the right decisions that the gate made."""
        return self.right / self.expected if self.expected else None


@dataclass(frozen=True, slots=True)
class Score:
    """The measures of both gates for one decision."""

    decision: str
    expected: int
    original: Measure
    replay: Measure


@dataclass(frozen=True, slots=True)
class VerdictScores:
    """Both gates compared with people's verdicts.

    Of `count` decisions, `original` and `replay` are the numbers that each gate made right; `scores` are by decision.
    """

    count: int
    original: int
    replay: int
    scores: list[Score]


def read_result(db: str, replay: GateReplay) -> Result:
    """Return the result of a replay so far."""
    outcomes = job.count_outcomes(db, replay.id)
    rows = find_replayed(db, replay.id)
    pairs = rows.order_by().values_list("original", "decision").annotate(number=Count("decision_id"))
    matrix = {(original, decision): number for original, decision, number in pairs}
    calls = GateCall.objects.using(db).filter(replay_id=replay.id)
    spent = calls.aggregate(number=Count("id"), tokens=Sum("reserved_tokens"), cost=Sum("cost_usd"))
    return Result(
        outcomes=outcomes,
        decided=sum(matrix.values()),
        agreed=sum(number for (original, decision), number in matrix.items() if original == decision),
        matrix=matrix,
        original=_build_side(_read_original_numbers(rows)),
        replay=_build_side(rows.values_list(*NUMBERS)),
        calls=spent["number"],
        spent_tokens=spent["tokens"] or 0,
        spent_usd=spent["cost"],
    )


def read_originals(db: str, replay_id: str) -> Iterator[tuple[str, str]]:
    """Yield ids of the replayed decisions with the original decision."""
    yield from find_replayed(db, replay_id).values_list("decision_id", "original").iterator(chunk_size=CHUNK)


def find_disagreements(db: str, replay_id: str) -> QuerySet[GateReplayDecision]:
    """Return the decisions that changed in the replay, to be ordered by `number`."""
    # Django writes "NOT is_same" for False, and SQLite would not use the index for it.
    return GateReplayDecision.objects.using(db).filter(replay_id=replay_id, is_same__in=[False])


def pair_with_originals(db: str, rows: Sequence[GateReplayDecision]) -> list[tuple[GateReplayDecision, Any]]:
    """Return each row with its original decision.

    The original is None where it was removed.
    """
    originals_by_id = (
        MemoryGateDecision.objects.using(db).defer("raw_response").in_bulk([row.decision_id for row in rows])
    )
    return [(row, originals_by_id.get(row.decision_id)) for row in rows]


def score_gates(db: str, replay_id: str, verdicts: Mapping[str, str]) -> VerdictScores:
    """Score both gates by people's verdicts.

    `verdicts` are the decisions that would be right, by the decision's id. Only replayed decisions count, so that both
    gates are measured on the same ones.
    """
    rows = find_replayed(db, replay_id).values_list("decision_id", "original", "decision")
    triples = [(verdicts[name], original, new) for name, original, new in rows.iterator(chunk_size=CHUNK)
             if name in verdicts]  # fmt: skip
    scores = [_build_score(name, triples) for name in DECISIONS if any(name in triple for triple in triples)]
    originals, replays = (sum(triple[0] == triple[index] for triple in triples) for index in (1, 2))
    return VerdictScores(len(triples), originals, replays, scores)


def _build_score(name, triples):
    expected = sum(right == name for right, _original, _new in triples)

    def measure(index):
        predicted = [triple for triple in triples if triple[index] == name]
        return Measure(len(predicted), sum(triple[0] == name for triple in predicted), expected)

    return Score(name, expected, measure(1), measure(2))


def find_replayed(db: str, replay_id: str) -> QuerySet[GateReplayDecision]:
    """Return the decisions that a replay has replayed."""
    return GateReplayDecision.objects.using(db).filter(replay_id=replay_id, outcome=Outcome.DECIDED)


def _read_original_numbers(rows):
    original = MemoryGateDecision.objects.filter(id=OuterRef("decision_id"))
    return rows.annotate(**{f"first_{name}": Subquery(original.values(name)) for name in NUMBERS}).values_list(
        *(f"first_{name}" for name in NUMBERS)
    )


def _build_side(rows):
    columns: list[list[Any]] = [[], [], [], []]
    for row in rows.iterator(chunk_size=CHUNK):
        for column, value in zip(columns, row, strict=True):
            if value is not None:
                column.append(value)
    times, *sums = columns
    p50, p95 = (_percentile(sorted(times), share) for share in (0.5, 0.95))
    return Side(p50, p95, *(sum(column) if column else None for column in sums), known=len(columns[3]))


def _percentile(values, share):
    """Return the value that `share` of all do not exceed; None for no values."""
    return values[math.ceil(share * len(values)) - 1] if values else None
