"""Pairs of outcomes on the cases of a regression set: which cases break, and the difference in accuracy."""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from ..models import GateReplay, GateReplayDecision, RegressionSet
from ..statistics.verdict_summary import VerdictCount

Outcome = GateReplayDecision.Outcome
KINDS = ((True, False), (False, True), None)  # broken, fixed, left out


@dataclass(frozen=True, slots=True)
class Comparison:
    """An original and a new model on the same cases.

    `broken` are cases that only the original got right, `fixed` those that only the new one did, `left_out` those
    without an answer of the new one; all of them ids. Only `broken` and `fixed` make a difference.
    """

    broken: list[str]
    fixed: list[str]
    left_out: list[str]
    original: VerdictCount
    new: VerdictCount

    @classmethod
    def build(cls, case_ids: Collection[str], outcomes: Mapping[str, tuple[bool, bool]]) -> Self:
        """Compare the outcomes of cases: whether the original was right, and whether the new one is."""
        groups = [[name for name in case_ids if outcomes.get(name) == kind] for kind in KINDS]
        counts = [VerdictCount(len(outcomes), sum(pair[side] for pair in outcomes.values())) for side in (0, 1)]
        return cls(*groups, *counts)

    @property
    def difference(self) -> float | None:
        """Return the new accuracy minus the original one, from -1 to 1; None without cases."""
        return (len(self.fixed) - len(self.broken)) / self.new.count if self.new.count else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95% interval of the difference; None without cases.

        Newcombe, Statistics in Medicine 17 (1998), page 2635: method 10, for paired proportions.
        """
        old, new = self.original, self.new
        if old.share is None or new.share is None or old.interval is None or new.interval is None:
            return None
        both_right = old.right - len(self.broken)
        surplus: float = both_right * (new.wrong - len(self.broken)) - len(self.broken) * len(self.fixed)
        surplus = max(0.0, surplus - new.count / 2) if surplus > 0 else surplus
        sides = old.right * old.wrong * new.right * new.wrong
        phi = surplus / math.sqrt(sides) if sides else 0.0

        def margin(end: float, other_end: float) -> float:
            return math.sqrt(end**2 - 2 * phi * end * other_end + other_end**2)

        low = margin(new.share - new.interval[0], old.interval[1] - old.share)
        high = margin(new.interval[1] - new.share, old.share - old.interval[0])
        return new.share - old.share - low, new.share - old.share + high

    def as_json(self) -> dict[str, Any]:
        """Return the values that the API and receipts have."""
        return asdict(self) | {"difference": self.difference, "interval": self.interval}


def compare_replay(db: str, replay: GateReplay) -> Comparison | None:
    """Compare a replay of a regression set with the original decisions; None for another replay.

    An answer that is no decision is wrong.
    """
    if "set" not in replay.chosen:
        return None
    right = RegressionSet.objects.using(db).get(id=replay.chosen["set"]).cases
    rows = GateReplayDecision.objects.using(db).filter(replay=replay, outcome__in=(Outcome.DECIDED, Outcome.MALFORMED))
    triples = rows.order_by("number").values_list("decision_id", "original", "decision")
    return Comparison.build(right, {name: (old == right[name], new == right[name]) for name, old, new in triples})
