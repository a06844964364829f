"""The verdicts of people on findings that are in force, all in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agents import databases
from findings import places
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from openclaw_web.batches import in_batches

from ..models import FindingVerdict

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
OPEN, CONFIRMED, DISMISSED, ADDED = "open", "confirmed", "dismissed", "added"
COLUMNS = (
    *("id", "undoes", "scope", "verdict", "value_hash", "rule", "agent_id", "place"),
    *("decided_by", "decided_at"),
)
CHUNK = 2_000
BATCH = 500  # values in one statement
MOST_ADDED = 10_000  # values that people added, of one agent


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
        by_agent = self.places.get(value_hash, {}).get(place) or {}
        judgment = by_agent.get(agent_id)
        if by_agent and not agent_id:
            judgments = list(by_agent.values())
            judgment = next((row for row in judgments if row.verdict != Verdict.DISMISSED), judgments[0])
        return to_state((judgment or self.find_judgment(rule, value_hash)).verdict)

    def find_judgment(self, rule: str, value_hash: str) -> Judgment:
        """Return the verdict on a value wherever it stands, or NONE."""
        return self.values.get(value_hash) or self.rules.get(rule) or NONE


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
    chosen = list(rows.filter(value_hash=None))
    for batch in in_batches(value_hashes, BATCH):
        chosen += rows.filter(value_hash__in=batch)
    return _build(chosen)


def find_states(agent_id: str, findings: Sequence[Finding]) -> list[str]:
    """The state of each of these findings of an agent, read from the verdicts on their values.

    One that a person added is `added` as long as nobody dismisses it.
    """
    if not findings:
        return []
    decisions = read_decisions({row.value_hash for row in findings})
    states = [
        decisions.find_state(row.kind, row.rule, row.value_hash, places.find_place_id(row), agent_id)
        for row in findings
    ]
    return [
        ADDED if row.rule == PERSON_RULE and state != DISMISSED else state
        for row, state in zip(findings, states, strict=True)
    ]


def read_added(agent_id: str, **columns: Any) -> list[tuple[str, str]]:
    """The values that people added in an agent's texts and nobody dismissed, as pairs of kind and value.

    `columns` narrow the findings. Values whose text is gone are left out.
    """
    db = databases.find_alias(agent_id)
    if db is None:
        return []
    rows = list(Finding.objects.using(db).filter(rule=PERSON_RULE, **columns).order_by("id")[:MOST_ADDED])
    states = find_states(agent_id, rows)
    pairs = [(row.kind, places.read_value(db, row)) for row, state in zip(rows, states, strict=True) if state == ADDED]
    return list(dict.fromkeys((kind, value) for kind, value in pairs if value))


def find_sessions_with_added(agent_id: str, session_ids: Iterable[str]) -> set[str]:
    """Those of an agent's sessions in whose texts people added values."""
    db = databases.find_alias(agent_id)
    rows = Finding.objects.using(db).filter(rule=PERSON_RULE, session_id__in=set(session_ids)) if db else None
    return set(rows.values_list("session_id", flat=True)) if rows is not None else set()


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
    for (scope, name, *place), judgments in stacks.items():
        if not judgments:
            continue
        judgment = next(reversed(judgments.values()))
        if scope == Scope.VALUE:
            decisions.values[name] = judgment
        elif scope == Scope.RULE:
            decisions.rules[name] = judgment
        else:
            decisions.places.setdefault(name, {}).setdefault(place[0], {})[place[1]] = judgment
    return decisions
