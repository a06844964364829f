"""What came of a replay: how often both gates agree, how long and how dear they were, and who is right."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum

from openclaw_web.pages.small_charts import HEAT_LEVELS

from ..models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from . import job

Outcome = GateReplayDecision.Outcome
DECISIONS = tuple(MemoryGateDecision.Decision.values)
CHUNK = 500
NUMBERS = ("llm_latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True, slots=True)
class Side:
    """What the decisions of one gate took; None: of no decision known. `known`: how many the cost is known of."""

    p50: int | None
    p95: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    known: int


@dataclass(frozen=True, slots=True)
class Result:
    """A replay by now. `matrix` counts the decisions that were made again, by the original and the new decision.

    `outcomes` has every outcome; `original` and `replay` are about the decisions that were made again. `spent_usd` and
    `spent_tokens` are of all calls of the replay, failed ones included.
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
        """The share of decisions that both gates made alike; None while there is none."""
        return self.agreed / self.decided if self.decided else None

    @property
    def used(self) -> list[str]:
        """The decisions that occur on either side, in the order of the spec."""
        found = {name for pair in self.matrix for name in pair}
        return [name for name in DECISIONS if name in found]

    @property
    def cells(self) -> list[tuple[str, list[tuple[str, int, int]], int]]:
        """Rows of the matrix: the original, for each decision its count and heat (0 to 5), and how many in all."""
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
    """How one gate did about one decision: how often it made it, and was right; precision and recall follow."""

    made: int
    right: int
    wanted: int

    @property
    def precision(self) -> float | None:
        """Of those it made, the share that is right."""
        return self.right / self.made if self.made else None

    @property
    def recall(self) -> float | None:
        """Of those that would have been right, the share it made."""
        return self.right / self.wanted if self.wanted else None


@dataclass(frozen=True, slots=True)
class Score:
    """Both gates about one decision."""

    decision: str
    wanted: int
    original: Measure
    replay: Measure


@dataclass(frozen=True, slots=True)
class VerdictScores:
    """Both gates against what people said: of `count` decisions, how many each made right, and the same by decision."""

    count: int
    original: int
    replay: int
    scores: list[Score]


def read_result(db: str, replay: GateReplay) -> Result:
    """What came of a replay by now."""
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
        original=_side(_of_originals(rows)),
        replay=_side(rows.values_list(*NUMBERS)),
        calls=spent["number"],
        spent_tokens=spent["tokens"] or 0,
        spent_usd=spent["cost"],
    )


def find_replayed_ids(db: str, replay_id: str) -> list[str]:
    """Ids of the decisions that a replay has made again, the newest first."""
    return list(find_replayed(db, replay_id).order_by("number").values_list("decision_id", flat=True))


def read_originals(db: str, replay_id: str) -> Iterator[tuple[str, str]]:
    """The decisions that a replay has made again, and what each was the first time."""
    yield from find_replayed(db, replay_id).values_list("decision_id", "original").iterator(chunk_size=CHUNK)


def find_disagreements(db: str, replay_id: str) -> QuerySet[GateReplayDecision]:
    """The decisions that became others, to be ordered by `number`."""
    # "NOT is_same", which Django writes for False, would leave the index aside.
    return GateReplayDecision.objects.using(db).filter(replay_id=replay_id, is_same__in=[False])


def pair_with_originals(db: str, rows: Sequence[GateReplayDecision]) -> list[tuple[GateReplayDecision, Any]]:
    """Each of these with the decision it is of; None where that is not there any more."""
    found = MemoryGateDecision.objects.using(db).defer("raw_response").in_bulk([row.decision_id for row in rows])
    return [(row, found.get(row.decision_id)) for row in rows]


def score_gates(db: str, replay_id: str, verdicts: Mapping[str, str]) -> VerdictScores:
    """Both gates against what people said; `verdicts` are the decisions that would be right, by the decision's id.

    Only decisions that were made again count, so that both gates are measured on the same ones.
    """
    rows = find_replayed(db, replay_id).values_list("decision_id", "original", "decision")
    found = [(verdicts[name], original, new) for name, original, new in rows.iterator(chunk_size=CHUNK)
             if name in verdicts]  # fmt: skip
    scores = [_score(name, found) for name in DECISIONS if any(name in one for one in found)]
    originals, replays = (sum(one[0] == one[place] for one in found) for place in (1, 2))
    return VerdictScores(len(found), originals, replays, scores)


def _score(name, found):
    wanted = sum(right == name for right, _original, _new in found)

    def measure(place):
        made = [one for one in found if one[place] == name]
        return Measure(len(made), sum(one[0] == name for one in made), wanted)

    return Score(name, wanted, measure(1), measure(2))


def find_replayed(db: str, replay_id: str) -> QuerySet[GateReplayDecision]:
    """The decisions that a replay has made again."""
    return GateReplayDecision.objects.using(db).filter(replay_id=replay_id, outcome=Outcome.DECIDED)


def _of_originals(rows):
    original = MemoryGateDecision.objects.filter(id=OuterRef("decision_id"))
    return rows.annotate(**{f"first_{name}": Subquery(original.values(name)) for name in NUMBERS}).values_list(
        *(f"first_{name}" for name in NUMBERS)
    )


def _side(rows):
    columns: list[list[Any]] = [[], [], [], []]
    for row in rows.iterator(chunk_size=CHUNK):
        for column, value in zip(columns, row, strict=True):
            if value is not None:
                column.append(value)
    times, *sums = columns
    p50, p95 = (_percentile(sorted(times), share) for share in (0.5, 0.95))
    return Side(p50, p95, *(sum(column) if column else None for column in sums), known=len(columns[3]))


def _percentile(values, share):
    """The value that `share` of all do not exceed; None of nothing."""
    return values[math.ceil(share * len(values)) - 1] if values else None
