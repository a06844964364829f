"""Draws random decisions without a verdict.

Each decision of a period is equally likely, and many decisions cost no more than few.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from django.db.models import QuerySet

from ..models import GateHour, MemoryGateDecision
from .figures import Period
from .sums import DAY_MS, HOUR_MS

FEW = 2_000  # up to so many decisions, all ids are read
MOST_DRAWS = 1_000  # draws among more decisions: after so many, most have a verdict
COLUMNS = ("llm_model", "prompt_version")


def draw_decisions(db: str, period: Period, *, seed: str, model: str = "", prompt: str = "") -> Iterator[str]:
    """Yield ids of a period's decisions without a verdict in random order, each once.

    The same `seed` gives the same order. Among many decisions, first an hour is drawn by its sum and then a decision of
    it, so that no index is read from end to end.
    """
    rng = Random(seed)  # noqa: S311 - not used for secrets
    start, end = period.moments
    filters = {name: value for name, value in zip(COLUMNS, (model, prompt), strict=True) if value}
    hours = GateHour.objects.using(db).filter(hour__gte=start, hour__lt=end + DAY_MS, total__gt=0, **filters)
    cells = list(hours.order_by("hour", *COLUMNS).values_list("hour", *COLUMNS, "total"))
    ends = list(accumulate(cell[-1] for cell in cells))
    if not ends:
        return
    if ends[-1] <= FEW:
        rows = MemoryGateDecision.objects.using(db).filter(
            created_at__gte=start, created_at__lt=end + DAY_MS, verdict__isnull=True, **filters
        )
        ids = list(rows.order_by("id").values_list("id", flat=True))
        rng.shuffle(ids)
        yield from ids
        return
    drawn = set()
    for _number in range(MOST_DRAWS):
        index = rng.randrange(ends[-1])
        if index in drawn:
            continue
        drawn.add(index)
        number = bisect_right(ends, index)
        row = _select_hour(db, cells[number])[index - (ends[number - 1] if number else 0) :].first()
        if row and row[1] is None:
            yield row[0]


def _select_hour(db, cell) -> QuerySet:
    """Return id and verdict of an hour's decisions by one model with one prompt, in order."""
    hour, *names, _total = cell
    filters = {name: value for name, value in zip(COLUMNS, names, strict=True) if value}
    unknown = {f"{name}__isnull": True for name, value in zip(COLUMNS, names, strict=True) if not value}
    rows = MemoryGateDecision.objects.using(db).placed()
    rows = rows.filter(created_at__gte=hour, created_at__lt=hour + HOUR_MS, **filters, **unknown)
    return rows.order_by("created_at", "place").values_list("id", "verdict")
