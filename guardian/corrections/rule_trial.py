"""Tries a rule on the facts that an agent had so far.

The result is what it would catch, and what it would just miss.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ledger.session.evidence import Evidence, read_messages

from ..models import WriteGuardianAudit
from . import patterns
from .patterns import Matcher

LOOKED_AT = 2_000  # writes, the newest
SHOWN, NEAR = 20, 5
SECONDS = 0.5
COLUMNS = (
    "id",
    "candidate_fact",
    "target_file",
    "status",
    "origin",
    "session_id",
    "turn_id",
    "earliest_at",
    "created_at",
)


@dataclass(slots=True)
class PastFact:
    """A fact that a rule was compared with.

    `row` has the columns COLUMNS of its write, `missing` the line it lacks. With `overruled` people said afterwards
    that the write should have been something else than the rule says.
    """

    row: Any
    missing: str = ""
    evidence: Evidence | None = None
    overruled: bool = False


@dataclass(slots=True)
class RuleTrial:
    """The newest facts that a rule catches, or of which one line is missing.

    `matched` and `missed` count these facts, among `compared`.

    With `is_partial` there are older facts, which were not compared.
    """

    caught: list[PastFact] = field(default_factory=list)
    near: list[PastFact] = field(default_factory=list)
    matched: int = 0
    missed: int = 0
    compared: int = 0
    is_partial: bool = False

    @property
    def is_every(self) -> bool:
        """Whether it matches all of several facts: it says nothing about any of them."""
        return self.matched == self.compared > 1


def try_pattern(db: str, pattern: str) -> RuleTrial:
    """Try a pattern on an agent's past facts, the newest first.

    Raises Refused for what is no pattern.
    """
    result, matcher = RuleTrial(), patterns.compile_pattern(pattern)
    ends = time.monotonic() + SECONDS
    for row in read_past_facts(db):
        if row is None or time.monotonic() > ends:
            result.is_partial = True
            break
        result.compared += 1
        missing = matcher.find_missing(patterns.encode_fact(row.candidate_fact))
        if not missing:
            result.matched += 1
            result.caught += [PastFact(row)] if len(result.caught) < SHOWN else []
        elif len(missing) == 1 < len(matcher.expressions):
            result.missed += 1
            result.near += [PastFact(row, _find_line(matcher, missing[0], pattern))] if len(result.near) < NEAR else []
    add_messages(db, [*result.caught, *result.near])
    return result


def read_past_facts(db: str) -> Iterator[Any]:
    """Yield the newest writes that have a fact.

    A last None says that older ones were left out.

    The fact of a rollback is that of the write which it took back: it is not compared again.
    """
    rows = WriteGuardianAudit.objects.using(db).exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)
    rows = rows.order_by("-created_at").values_list(*COLUMNS, named=True)
    for number, row in enumerate(rows[: LOOKED_AT + 1].iterator(chunk_size=200)):
        if number == LOOKED_AT:
            yield None
        elif row.candidate_fact:
            yield row


def add_messages(db: str, facts: list[PastFact]) -> None:
    """Add to each of these facts the message it came from.

    The queries are as many for one fact as for many.
    """
    messages = read_messages(db, [fact.row for fact in facts]) if facts else {}
    for fact in facts:
        fact.evidence = messages.get(fact.row.id)


def _find_line(matcher: Matcher, number: int, pattern: str) -> str:
    """Return the line of a rule that a fact lacks, as somebody typed it."""
    return ", ".join(matcher.lines[number]) if matcher.lines else pattern.split("\n")[number]
