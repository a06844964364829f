"""The verdicts of people on findings that are in force, all in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..models import FindingVerdict

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
OPEN, CONFIRMED, DISMISSED = "open", "confirmed", "dismissed"
COLUMNS = (
    *("id", "undoes", "scope", "verdict", "value_hash", "rule", "agent_id", "place"),
    *("decided_by", "decided_at"),
)
CHUNK = 2_000
BATCH = 500  # values in one statement


class Judgment(NamedTuple):
    """A verdict in force: one of FindingVerdict.Verdict, who gave it, and when in milliseconds."""

    verdict: str
    by: str
    at: int


NONE = Judgment("", "", 0)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Verdicts in force: of values in one place, of values, and of rules."""

    places: dict[str, dict[str, dict[str, Judgment]]] = field(default_factory=dict)  # by value, place and agent
    values: dict[str, Judgment] = field(default_factory=dict)
    rules: dict[str, Judgment] = field(default_factory=dict)

    def find_state(self, kind: str, rule: str, value_hash: str, place: str, agent_id: str = "") -> str:
        """Return `open`, `confirmed` or `dismissed` for a value found in a place.

        A verdict on the place counts before one on the value, and that before one on the rule. `kind` has no verdicts
        of its own. Without `agent_id`, a place that agents share is dismissed only if it is so for each of them.
        """
        return to_state(self.find_place_judgment(rule, value_hash, place, agent_id).verdict)

    def find_place_judgment(self, rule: str, value_hash: str, place: str, agent_id: str = "") -> Judgment:
        """Return the verdict on a value found in a place, or NONE; `agent_id` as in `find_state`."""
        return self._find_place(value_hash, place, agent_id) or self.find_judgment(rule, value_hash)

    def find_judgment(self, rule: str, value_hash: str) -> Judgment:
        """Return the verdict on a value wherever it stands, or NONE."""
        return self.values.get(value_hash) or self.rules.get(rule) or NONE

    def _find_place(self, value_hash, place, agent_id):
        by_agent = self.places.get(value_hash, {}).get(place)
        if not by_agent or agent_id:
            return (by_agent or {}).get(agent_id)
        judgments = list(by_agent.values())
        return next((row for row in judgments if row.verdict != Verdict.DISMISSED), judgments[0])


class DecisionCache:
    """Verdicts in force on some values, each read once: for a page or a few samples."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._decisions = Decisions()

    def load(self, value_hashes: Iterable[str]) -> None:
        """Read the verdicts on these values together, those that are known already left out."""
        new = set(value_hashes) - self._known
        if not new:
            return
        self._known |= new
        read = read_decisions(new)
        self._decisions.places.update(read.places)
        self._decisions.values.update(read.values)
        self._decisions.rules.update(read.rules)

    def find_state(self, kind: str, rule: str, value_hash: str, place: str, agent_id: str) -> str:
        """Return `open`, `confirmed` or `dismissed`, as Decisions.find_state."""
        self.load([value_hash])
        return self._decisions.find_state(kind, rule, value_hash, place, agent_id)


def read_decisions(value_hashes: Collection[str] | None = None) -> Decisions:
    """Read the verdicts in force: all of them, or those on these values and on rules.

    Memory grows with the verdicts of people, never with the findings.
    """
    rows = FindingVerdict.objects.order_by("decided_at", "id").values_list(*COLUMNS)
    if value_hashes is None:
        return _build(rows.iterator(chunk_size=CHUNK))
    hashes, chosen = list(value_hashes), list(rows.filter(value_hash=None))
    for start in range(0, len(hashes), BATCH):
        chosen += rows.filter(value_hash__in=hashes[start : start + BATCH])
    return _build(chosen)


def to_state(verdict: str) -> str:
    """Return `open`, `confirmed` or `dismissed` for a verdict; an empty text is none."""
    return {"": OPEN, Verdict.DISMISSED.value: DISMISSED}.get(verdict, CONFIRMED)


def _build(rows: Iterable[tuple]) -> Decisions:
    # Of each subject the verdicts that were not undone, oldest first.
    stacks: dict[tuple, dict[str, Judgment]] = defaultdict(dict)
    for verdict_id, undoes, scope, verdict, value_hash, rule, agent_id, place, by, at in rows:
        subject = {
            Scope.VALUE.value: (scope, value_hash),
            Scope.RULE.value: (scope, rule),
            Scope.PLACE.value: (scope, value_hash, place, agent_id),
        }[scope]
        if undoes:
            stacks[subject].pop(undoes, None)
        else:
            stacks[subject][verdict_id] = Judgment(verdict, by, at)
    decisions = Decisions()
    for subject, judgments in stacks.items():
        if judgments:
            _store(decisions, subject, next(reversed(judgments.values())))
    return decisions


def _store(decisions, subject, judgment):
    if subject[0] == Scope.VALUE:
        decisions.values[subject[1]] = judgment
    elif subject[0] == Scope.RULE:
        decisions.rules[subject[1]] = judgment
    else:
        _scope, value_hash, place, agent_id = subject
        decisions.places.setdefault(value_hash, {}).setdefault(place, {})[agent_id] = judgment
