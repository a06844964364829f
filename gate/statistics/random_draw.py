"""Draws decisions at random that nobody judged: each of a period is as likely, however many there are."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from django.db.models import QuerySet

from ..models import GateHour, MemoryGateDecision
from .figures import Period
from .sum_changes import DAY_MS, HOUR_MS

FEW = 2_000  # of so many every id is read
MOST_DRAWS = 1_000  # of more decisions: then most of them are judged already
COLUMNS = ("llm_model", "prompt_version")


def draw_decisions(db: str, period: Period, *, seed: str, model: str = "", prompt: str = "") -> Iterator[str]:
    """Ids of decisions of a period without a verdict in random order, each once; the same `seed` draws the same order.

    Of many decisions an hour is drawn by the sums, then a decision of it, so that no index is walked from end to end.
    """
    chance = Random(seed)  # noqa: S311 - no secret is made of it
    start, end = period.moments
    only = {name: value for name, value in zip(COLUMNS, (model, prompt), strict=True) if value}
    hours = GateHour.objects.using(db).filter(hour__gte=start, hour__lt=end + DAY_MS, total__gt=0, **only)
    cells = list(hours.order_by("hour", *COLUMNS).values_list("hour", *COLUMNS, "total"))
    ends = list(accumulate(cell[-1] for cell in cells))
    if not ends:
        return
    if ends[-1] <= FEW:
        rows = MemoryGateDecision.objects.using(db).filter(
            created_at__gte=start, created_at__lt=end + DAY_MS, verdict__isnull=True, **only
        )
        ids = list(rows.order_by("id").values_list("id", flat=True))
        chance.shuffle(ids)
        yield from ids
        return
    yield from _of_many(db, cells, ends, chance)


def _of_many(db, cells, ends, chance):
    drawn = set()
    for _number in range(MOST_DRAWS):
        place = chance.randrange(ends[-1])
        if place in drawn:
            continue
        drawn.add(place)
        number = bisect_right(ends, place)
        row = _of_hour(db, cells[number])[place - (ends[number - 1] if number else 0) :].first()
        if row and row[1] is None:
            yield row[0]


def _of_hour(db, cell) -> QuerySet:
    """The decisions of an hour, by one model with one prompt, in order: id and verdict."""
    hour, *names, _total = cell
    only = {name: value for name, value in zip(COLUMNS, names, strict=True) if value}
    unknown = {f"{name}__isnull": True for name, value in zip(COLUMNS, names, strict=True) if not value}
    rows = MemoryGateDecision.objects.using(db).placed()
    rows = rows.filter(created_at__gte=hour, created_at__lt=hour + HOUR_MS, **only, **unknown)
    return rows.order_by("created_at", "place").values_list("id", "verdict")
