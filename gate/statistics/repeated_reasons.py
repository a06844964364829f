"""Reasons that decisions gave again and again: the same words, whatever their case, spaces and numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import OperationalError
from django.db.models.functions import Substr

from openclaw_web.sqlite.time_limits import time_box

from ..models import MemoryGateDecision
from .figures import Period
from .sum_changes import DAY_MS

NEWEST = 500  # decisions that are looked at
PIECE = 250
BUDGET_MS = 60
CHARACTERS = 300  # of each reason
SHOWN = 10
SPACES, NUMBERS, EDGES = re.compile(r"\s+"), re.compile(r"\d+(?:[.,:]\d+)*"), " .,:;!?…。，！？；：\"'“”‘’`*-"
LONGEST_WORDS = 100  # characters to search for


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Decisions of one kind that gave the same reason: how many, and the newest one's words.

    `words` is a part of them without numbers, by which the list finds all.
    """

    decision: str
    reason: str
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class ReasonGroups:
    """The largest groups of two or more decisions among the newest `looked_at`; `since` when there are older ones."""

    groups: list[ReasonGroup]
    looked_at: int
    since: int | None


def find_repeated_reasons(db: str, period: Period, *, model: str = "", prompt: str = "") -> ReasonGroups:
    """What the newest decisions of a period gave as their reasons, as many as can be read in a moment."""
    start, end = period.moments
    rows = MemoryGateDecision.objects.using(db).filter(created_at__gte=start, created_at__lt=end + DAY_MS)
    only = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in only.items() if value}).order_by("-created_at")
    read, is_all = _newest(db, rows.values_list("decision", Substr("reason", 1, CHARACTERS), "created_at"))
    found: dict[tuple[str, str], list[str]] = {}
    for decision, reason, _at in read:
        if same := normalise_reason(reason):
            found.setdefault((decision, same), []).append(reason)
    again = sorted((one for one in found.items() if len(one[1]) > 1), key=lambda one: -len(one[1]))
    told = [ReasonGroup(key[0], reasons[0], len(reasons), find_common_words(reasons)) for key, reasons in again[:SHOWN]]
    return ReasonGroups(told, len(read), None if is_all else read[-1][2])


def normalise_reason(reason: str) -> str:
    """What equal reasons have in common: small letters, single spaces, # for each number, no marks around."""
    return NUMBERS.sub("#", SPACES.sub(" ", reason.casefold())).strip(EDGES)


def find_common_words(reasons: Iterable[str]) -> str:
    """The longest part of reasons that all of them have as it is, to search for."""
    shortest = min(reasons, key=len)
    parts = [part.strip(EDGES) for part in re.split(r"\d+|\s{2,}|[\r\n\t]", shortest[:CHARACTERS])]
    return max(parts, key=len)[:LONGEST_WORDS].strip()


def _newest(db, rows):
    """The first NEWEST rows, or those that can be read in time, and whether that is all."""
    found: list[tuple[str, str, int]] = []
    with time_box(db, BUDGET_MS) as is_up:
        try:
            while len(found) < NEWEST:
                piece = list(rows[len(found) : len(found) + PIECE])
                found += piece
                if len(piece) < PIECE:
                    return found, True
            return found, not rows[NEWEST : NEWEST + 1]
        except OperationalError as exc:
            if not is_up(exc):
                raise
    return found, not found
