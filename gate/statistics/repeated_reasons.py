"""Finds reasons that several decisions gave, ignoring case, spaces and numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import OperationalError
from django.db.models.functions import Substr

from openclaw_web.sqlite.time_limits import time_box

from ..models import MemoryGateDecision
from .figures import Period
from .sums import DAY_MS

NEWEST = 500  # decisions that are compared
PIECE = 250
BUDGET_MS = 60
CHARACTERS = 300  # characters of each reason that are compared
SHOWN = 10
SPACES, NUMBERS, EDGES = re.compile(r"\s+"), re.compile(r"\d+(?:[.,:]\d+)*"), " .,:;!?…。，！？；：\"'“”‘’`*-"
LONGEST_WORDS = 100  # characters of a search text


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Decisions of one kind with the same reason: their number, and the newest reason.

    `words` is a part of the reason without numbers, by which the list finds all of them.
    """

    decision: str
    reason: str
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class ReasonGroups:
    """The largest groups of decisions with the same reason among the newest decisions.

    `compared_count` decisions were compared; `since` is set when there are older ones.
    """

    groups: list[ReasonGroup]
    compared_count: int
    since: int | None


def find_repeated_reasons(db: str, period: Period, *, model: str = "", prompt: str = "") -> ReasonGroups:
    """Return the repeated reasons of a period's newest decisions.

    As many decisions are compared as can be read within a time limit.
    """
    start, end = period.moments
    rows = MemoryGateDecision.objects.using(db).filter(created_at__gte=start, created_at__lt=end + DAY_MS)
    filters = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in filters.items() if value}).order_by("-created_at")
    read, is_all = _read_newest(db, rows.values_list("decision", Substr("reason", 1, CHARACTERS), "created_at"))
    reasons_by_text: dict[tuple[str, str], list[str]] = {}
    for decision, reason, _at in read:
        if same := normalise_reason(reason):
            reasons_by_text.setdefault((decision, same), []).append(reason)
    repeated = sorted((item for item in reasons_by_text.items() if len(item[1]) > 1), key=lambda item: -len(item[1]))
    largest = [
        ReasonGroup(key[0], reasons[0], len(reasons), find_common_words(reasons)) for key, reasons in repeated[:SHOWN]
    ]
    return ReasonGroups(largest, len(read), None if is_all else read[-1][2])


def normalise_reason(reason: str) -> str:
    """Return the text that equal reasons have in common.

    Lower case, single spaces, # for each number, no punctuation around.
    """
    return NUMBERS.sub("#", SPACES.sub(" ", reason.casefold())).strip(EDGES)


def find_common_words(reasons: Iterable[str]) -> str:
    """Return the longest part that all reasons contain unchanged, for a search."""
    shortest = min(reasons, key=len)
    parts = [part.strip(EDGES) for part in re.split(r"\d+|\s{2,}|[\r\n\t]", shortest[:CHARACTERS])]
    return max(parts, key=len)[:LONGEST_WORDS].strip()


def _read_newest(db, rows):
    """Return the first NEWEST rows, or those that can be read in time.

    The second value says whether these are all rows.
    """
    newest_rows: list[tuple[str, str, int]] = []
    with time_box(db, BUDGET_MS) as is_up:
        try:
            while len(newest_rows) < NEWEST:
                batch = list(rows[len(newest_rows) : len(newest_rows) + PIECE])
                newest_rows += batch
                if len(batch) < PIECE:
                    return newest_rows, True
            return newest_rows, not rows[NEWEST : NEWEST + 1]
        except OperationalError as exc:
            if not is_up(exc):
                raise
    return newest_rows, not newest_rows
