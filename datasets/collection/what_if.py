"""Other thresholds and switches on the turns that were looked at: how many take which side, and which change it.

It reads only `turn_outcomes`: turns with the same bits, and the same thresholds passed, are one group.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from openclaw_web import clock

from ..models import TurnOutcome
from .classification import DAYS, HIGH, LEAST, MEDIUM, SIDES, Place, apply_thresholds, classify
from .criteria import CRITERIA, DECISION, NO, POSITIVE, UNKNOWN, WRITE, YES

EXAMPLES = 10
Criteria = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A turn that would change its side, with the criteria that are the reason: name, answer before, answer then."""

    row: TurnOutcome
    before: str
    after: str
    reasons: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Turns by side, for the version in force and for other criteria, and examples of what changes."""

    before: dict[str, int]
    after: dict[str, int]
    changed: int
    examples: list[Change]

    def to_json(self) -> dict[str, Any]:
        """The comparison as values of JSON."""
        columns = ("agent_id", "session_id", "turn_id", "turn_number")
        examples = []
        for change in self.examples:
            reasons = [{"criterion": name, "before": first, "after": then} for name, first, then in change.reasons]
            place = {name: getattr(change.row, name) for name in columns}
            examples.append({**place, "before": change.before, "after": change.after, "reasons": reasons})
        return {"before": self.before, "after": self.after, "changed": self.changed, "turns": examples}


def compare(before: Criteria, after: Criteria) -> WhatIf:
    """The sides of all turns by two sets of criteria."""
    grid = _Grid((before, after))
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    changed, examples = 0, list[Change]()
    for group in grid.read_groups():
        places = [grid.classify(group, criteria) for criteria in (before, after)]
        for place, counter in zip(places, counts, strict=True):
            counter[place.side] += group["count"]
        if places[0].side == places[1].side:
            continue
        changed += group["count"]
        if len(examples) < EXAMPLES:
            reasons = grid.find_reasons(group, before, after)
            rows = grid.find_rows(group)[: EXAMPLES - len(examples)]
            examples += [Change(row, places[0].side, places[1].side, reasons) for row in rows]
    first, second = ({side: counter[side] for side in SIDES} for counter in counts)
    return WhatIf(first, second, changed, examples)


class _Grid:
    """The groups of turns that no threshold of some criteria tells apart."""

    def __init__(self, several: Iterable[Criteria]):
        criteria = list(several)
        self.scores = sorted({score for row in criteria for score in (row[POSITIVE][LEAST], row[MEDIUM], row[HIGH])})
        self.days = sorted({row[POSITIVE][DAYS] for row in criteria})
        self.now = clock.now_ms()

    def _annotate(self) -> QuerySet[TurnOutcome]:
        passed = _count_passed([Q(score__gte=score) for score in self.scores])
        aged = _count_passed([Q(at__lte=self.now - days * clock.DAY_MS) for days in self.days])
        scored = Case(When(score__isnull=True, then=Value(-1)), default=passed, output_field=IntegerField())
        return TurnOutcome.objects.annotate(passed=scored, aged=aged)

    def read_groups(self) -> list[dict[str, Any]]:
        """Each group with its bits, the thresholds that its turns pass, and their count."""
        groups = self._annotate().values("yes", "unknown", "passed", "aged").order_by()
        return list(groups.annotate(count=Count("id")).order_by("yes", "unknown", "passed", "aged"))

    def find_rows(self, group: Mapping[str, Any]) -> QuerySet[TurnOutcome]:
        """The turns of a group."""
        return self._annotate().filter(**{name: group[name] for name in ("yes", "unknown", "passed", "aged")})

    def apply(self, group: Mapping[str, Any], criteria: Criteria) -> tuple[int, int]:
        """The bits of a group with the thresholds of criteria applied."""
        passed = group["passed"]
        score = None if passed < 0 else self.scores[passed - 1] if passed else -1.0
        age = self.days[group["aged"] - 1] if group["aged"] else -1
        return apply_thresholds(group["yes"], group["unknown"], score, age, dict(criteria))

    def classify(self, group: Mapping[str, Any], criteria: Criteria) -> Place:
        return classify(*self.apply(group, criteria), dict(criteria))

    def find_reasons(self, group: Mapping[str, Any], before: Criteria, after: Criteria) -> list[tuple[str, str, str]]:
        """The criteria that answer otherwise, or are switched on or off, with what counts before and then."""
        first, second = self.apply(group, before), self.apply(group, after)
        reasons = []
        for criterion in CRITERIA:
            answers = _read_answer(first, criterion, before), _read_answer(second, criterion, after)
            # Unknown and no count only where every criterion has to say yes: for a decision to be right.
            is_needed = criterion.group == POSITIVE and group["yes"] & DECISION
            if answers[0] != answers[1] and (is_needed or YES in answers):
                reasons.append((criterion.name, *answers))
        switched = tuple(YES if criteria["turns"] else "" for criteria in (before, after))
        if switched[0] != switched[1] and not group["yes"] & (DECISION | WRITE):
            reasons.append(("turns", *switched))
        return reasons


def _count_passed(conditions: list[Q]) -> Combinable:
    """How many of the conditions a row meets."""
    total: Any = Value(0)
    for condition in conditions:
        total = total + Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())
    return total


def _read_answer(bits, criterion, criteria):
    """The answer of a criterion; empty where it is switched off."""
    if not criteria[criterion.group][criterion.name]:
        return ""
    return YES if bits[0] & criterion.bit else UNKNOWN if bits[1] & criterion.bit else NO
