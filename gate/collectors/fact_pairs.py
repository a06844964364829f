"""Pairs of decisions in the plugin's log and facts in the log of write_guardian."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Any

from .guardian_log import WriteAttempt
from .source_decisions import UPDATES

WITHIN_MS = 60_000  # between a decision and the write that follows from it
EARLY_MS = 10_000  # facts that may be read before their decisions
MOST_DECISIONS = 100_000  # that wait for a fact during one import
MOST_FACTS = 1_000  # that wait for a decision
Waiting = tuple[int, str, str]  # the moment of a decision, its id and its agent


class FactPairs:
    """Pairs the facts of one workspace: with the nearest decision of their kind before them that has none yet."""

    def __init__(self, state: dict[str, Any] | None = None):
        """Begin, or go on where an import before stopped."""
        waiting = state["waiting"] if state else {}
        self._waiting: dict[str, list[Waiting]] = {kind: [(*one,) for one in some] for kind, some in waiting.items()}
        self._facts = [WriteAttempt(*one) for one in state["facts"]] if state else []
        self._latest: int = state["latest"] if state else 0

    def add_decision(self, at: int, kind: str, decision_id: str, agent_id: str) -> None:
        """A decision without a fact."""
        if kind not in UPDATES:
            return
        waiting = self._waiting.setdefault(kind, [])
        insort(waiting, (at, decision_id, agent_id))
        self._latest = max(self._latest, at)
        if len(waiting) > MOST_DECISIONS:
            del waiting[: MOST_DECISIONS // 10]

    def pairs(self, written: Iterable[WriteAttempt]) -> Iterator[tuple[str, str, str]]:
        """Agent, decision and fact of each pair: first of the facts that wait, then of these."""
        waiting, self._facts = self._facts, []
        for some in (waiting, written):
            for one in some:
                if one.fact is None:
                    continue
                if found := self._decision(one):
                    yield found[2], found[1], one.fact
                else:
                    self._facts.append(one)
                    if len(self._facts) > MOST_FACTS:
                        del self._facts[: MOST_FACTS // 10]

    def state(self) -> dict[str, Any]:
        """What may still find its other half, for the next import."""
        latest = max([self._latest, *(one.at for one in self._facts)])
        waiting = {
            kind: [one for one in some if one[0] >= latest - WITHIN_MS] for kind, some in self._waiting.items() if some
        }
        facts = [one for one in self._facts if one.at >= self._latest - EARLY_MS]
        told = [[one.at, one.decision, one.target_file, one.status, one.reason, one.fact] for one in facts]
        return {"waiting": waiting, "facts": told, "latest": self._latest}

    def _decision(self, written):
        waiting = self._waiting.get(written.decision, [])
        place = bisect_right(waiting, written.at, key=lambda one: one[0])
        if place and written.at - waiting[place - 1][0] <= WITHIN_MS:
            return waiting.pop(place - 1)
        return None
