"""Sums of all agents by day and hour.

Pages read these few rows instead of those of every agent.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import islice

from django.db import transaction

from ledger.transcripts.turns import utc_day
from openclaw_web import clock

from .models import AgentDailyStat, AgentHour, MemorySpan, SiteSpan
from .span_sums import HOUR_MS, WRITES, SpanSums, are_different, day_before, hour_name, is_day, start_of

AT_ONCE = 500  # spans: a transcript may name any number of days, but a statement has a limit of values
KEPT_DAYS = 100  # up to the last day with activity: twice the longest range, and some


def add_changes(changes: Iterable[tuple[str, SpanSums]]) -> None:
    """Add changes of spans to their rows, in the caller's transaction.

    Each span comes once.
    """
    rest = iter(changes)
    while batch := dict(islice(rest, AT_ONCE)):
        stored = SiteSpan.objects.in_bulk(list(batch))
        rows = []
        for span, change in batch.items():
            sums = SpanSums.from_row(stored[span]) if span in stored else SpanSums()
            sums.add(change)
            rows.append(_build_row(span, sums))
        SiteSpan.objects.filter(span__in=list(batch)).delete()
        SiteSpan.objects.bulk_create(rows)


def rebuild() -> None:
    """Sum the rows of all agents again."""
    with transaction.atomic():
        SiteSpan.objects.all().delete()
        SiteSpan.objects.bulk_create([_build_row(span, sums) for span, sums in add_up().items()], batch_size=200)


def are_wrong() -> bool:
    """Return whether the stored sums differ from those of the agents' rows."""
    sums, first = add_up(), _find_first_span()
    stored = {row.span: SpanSums.from_row(row) for row in SiteSpan.objects.filter(span__gte=first)}
    return are_different(stored, sums)


def add_up() -> dict[str, SpanSums]:
    """Sum the rows of all agents, without days that no range reaches."""
    total: dict[str, SpanSums] = {}
    for span, sums in _read_agent_sums():
        total.setdefault(span, SpanSums()).add(sums)
    return total


def _read_agent_sums() -> Iterator[tuple[str, SpanSums]]:
    first = _find_first_span()
    for day in AgentDailyStat.objects.filter(date__gte=first).iterator():
        yield day.date, SpanSums.from_row(day)
    for model in (AgentHour, MemorySpan):
        for row in model.objects.filter(span__gte=first).iterator():
            yield row.span, SpanSums.from_row(row)


def _find_first_span():
    """Return the first day that a range can reach; empty without any activity.

    Ranges end with the last day with activity, or today.
    """
    today = utc_day(clock.now_ms())
    known = AgentDailyStat.objects.filter(date__lte=today).order_by("-date")
    last = known.values_list("date", flat=True).first()
    return day_before(date.fromisoformat(last), KEPT_DAYS - 1) if last else ""


def _build_row(span, sums):
    return SiteSpan(span=span, **sums.columns(), **{name: sums.counts[name] for name in WRITES})


def read_spans(first: str, last: str) -> Mapping[str, SpanSums]:
    """Read the sums of the spans from `first` to `last`, both included.

    Both are of the same kind.
    """
    rows = SiteSpan.objects.filter(span__gte=first, span__lte=last)
    rows = rows.exclude(span__contains="T") if is_day(first) else rows.filter(span__contains="T")
    return {row.span: SpanSums.from_row(row) for row in rows}


def find_last_moment() -> int | None:
    """Return the first millisecond of the last hour or day with activity; none of the future."""
    spans = SiteSpan.objects.filter(span__lte=hour_name(clock.now_ms() // HOUR_MS))
    active = spans.exclude(turn_count=0, error_count=0, total_tokens=0)
    last = active.order_by("-span").values_list("span", flat=True).first()
    return start_of(last) if last else None
