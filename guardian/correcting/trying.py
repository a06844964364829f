"""A pattern tried against the facts that an agent had so far: what a rule with it would have been about."""

import time
from dataclasses import dataclass, field
from typing import Any

from ..models import WriteGuardianAudit
from . import patterns

LOOKED_AT = 2_000  # writes, the newest
SHOWN = 20
SECONDS = 0.5
READ = ("id", "candidate_fact", "target_file", "status", "created_at")


@dataclass(slots=True)
class Tried:
    """The newest facts that a pattern matches, how many do, and of how many; with `is_partial` there are older ones."""

    pattern: str
    shown: list[dict[str, Any]] = field(default_factory=list)
    matched: int = 0
    compared: int = 0
    is_partial: bool = False

    @property
    def is_every(self) -> bool:
        """Whether it matches all of several facts: it says nothing about any of them."""
        return self.matched == self.compared > 1


def tried(db: str, pattern: str) -> Tried:
    """Which past facts of an agent a pattern matches, the newest first. Raises Refused for what is no pattern.

    The fact of a rollback is that of the write which it took back: it is not compared again.
    """
    found = Tried(pattern)
    patterns.compiled(pattern)
    rows = WriteGuardianAudit.objects.using(db).exclude(origin=WriteGuardianAudit.Origin.ROLLBACK)
    rows = rows.order_by("-created_at").values(*READ)
    ends = time.monotonic() + SECONDS
    for number, row in enumerate(rows[: LOOKED_AT + 1].iterator(chunk_size=200)):
        if number == LOOKED_AT or time.monotonic() > ends:
            found.is_partial = True
            break
        if not row["candidate_fact"]:
            continue
        found.compared += 1
        if patterns.fits(pattern, row["candidate_fact"]):
            found.matched += 1
            found.shown += [row] if len(found.shown) < SHOWN else []
    return found
