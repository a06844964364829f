"""Pairs of decisions in the plugin's log and facts in the log of write_guardian."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Any

from .guardian_log import WriteAttempt
from .source_decisions import UPDATES

WITHIN_MS = 60_000  # milliseconds between a decision and the write that follows from it
EARLY_MS = 10_000  # milliseconds; facts may be read before their decisions
MOST_DECISIONS = 100_000  # waiting for a fact during one import
MOST_FACTS = 1_000  # waiting for a decision
Waiting = tuple[int, str, str]  # the moment of a decision, its id and its agent


class FactPairs:
    """Pairs the facts of one workspace with decisions.

    A fact goes to the nearest decision of its kind before it that has no fact yet.
    """

    def __init__(self, state: dict[str, Any] | None = None):
        """Begin, or continue from the state of an earlier import."""
        waiting = state["waiting"] if state else {}
        self._waiting: dict[str, list[Waiting]] = {
            kind: [(*decision,) for decision in decisions] for kind, decisions in waiting.items()
        }
        self._facts = [WriteAttempt(*attempt) for attempt in state["facts"]] if state else []
        self._latest: int = state["latest"] if state else 0

    def add_decision(self, at: int, kind: str, decision_id: str, agent_id: str) -> None:
        """Add a decision without a fact, made at `at` (milliseconds)."""
        if kind not in UPDATES:
            return
        waiting = self._waiting.setdefault(kind, [])
        insort(waiting, (at, decision_id, agent_id))
        self._latest = max(self._latest, at)
        if len(waiting) > MOST_DECISIONS:
            del waiting[: MOST_DECISIONS // 10]

    def pairs(self, attempts: Iterable[WriteAttempt]) -> Iterator[tuple[str, str, str]]:
        """Yield agent, decision and fact of each pair: first of waiting facts, then of these."""
        waiting, self._facts = self._facts, []
        for attempt_list in (waiting, attempts):
            for attempt in attempt_list:
                if attempt.fact is None:
                    continue
                if decision := self._take_decision(attempt):
                    yield decision[2], decision[1], attempt.fact
                else:
                    self._facts.append(attempt)
                    if len(self._facts) > MOST_FACTS:
                        del self._facts[: MOST_FACTS // 10]

    def state(self) -> dict[str, Any]:
        """Return, for the next import, decisions and facts that may still be paired."""
        latest = max([self._latest, *(attempt.at for attempt in self._facts)])
        waiting = {
            kind: [item for item in items if item[0] >= latest - WITHIN_MS]
            for kind, items in self._waiting.items()
            if items
        }
        facts = [attempt for attempt in self._facts if attempt.at >= self._latest - EARLY_MS]
        fact_rows = [
            [attempt.at, attempt.decision, attempt.target_file, attempt.status, attempt.reason, attempt.fact]
            for attempt in facts
        ]
        return {"waiting": waiting, "facts": fact_rows, "latest": self._latest}

    def _take_decision(self, attempt):
        waiting = self._waiting.get(attempt.decision, [])
        index = bisect_right(waiting, attempt.at, key=lambda decision: decision[0])
        if index and attempt.at - waiting[index - 1][0] <= WITHIN_MS:
            return waiting.pop(index - 1)
        return None
