"""Sums of all agents by day and hour, computed by one statement from the agents' rows.

Pages read these few rows instead of those of every agent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db import DEFAULT_DB_ALIAS, transaction

from ledger.transcripts.turns import utc_day
from openclaw_web import clock
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

from . import latency
from .models import AgentDailyStat, AgentHour, MemorySpan, SiteSpan
from .span_sums import (
    COUNTS,
    DETAILS,
    HOUR_MS,
    WRITES,
    SpanSums,
    add_up,
    day_before,
    have_differences,
    hour_name,
    read_models,
    start_of,
)

KEPT_DAYS = 100  # up to the last day with activity: twice the longest range, and some
COLUMNS = ("span", *COUNTS, *WRITES, "cost_usd", *DETAILS)
SOURCES = {AgentDailyStat: "date", AgentHour: "span", MemorySpan: "span"}


NO_COUNTS, NO_WRITES = (", ".join(f"0 AS {name}" for name in names) for names in (COUNTS, WRITES))
OF_SPANS = "IN (SELECT span FROM spans)"
PARTS = f"""
    SELECT date AS span, {", ".join(COUNTS)}, {NO_WRITES}, cost_usd, latency_json, models_json
    FROM agent_daily_stats WHERE date {OF_SPANS}
    UNION ALL SELECT span, {", ".join(COUNTS)}, {NO_WRITES}, cost_usd, latency_json, models_json
    FROM agent_hours WHERE span {OF_SPANS}
    UNION ALL SELECT span, {NO_COUNTS}, {", ".join(WRITES)}, NULL, NULL, NULL FROM memory_spans WHERE span {OF_SPANS}
"""  # noqa: S608
SUMS = add_up(
    {
        "spans": f"SELECT value AS span FROM {dialect.json_array('listed')}",  # noqa: S608
        "parts": PARTS,
        "buckets": f"""
            SELECT span, CAST(items.key AS INTEGER) AS bucket, items.value AS counted
            FROM parts JOIN {dialect.json_column_items("latency_json", "items")}
        """,  # noqa: S608
        "models": f"""
            SELECT span, items.key AS model, {dialect.json_item("items.value", 0)} AS cost,
                {dialect.json_item("items.value", 1)} AS unpriced
            FROM parts JOIN {dialect.json_column_items("models_json", "items")} ON items.type = 'array'
        """,  # noqa: S608
    },
    (*COUNTS, *WRITES),
)
DELETE = f"DELETE FROM site_spans WHERE span IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
INSERT = f"INSERT INTO site_spans ({', '.join(COLUMNS)}) {SUMS}"


def refresh(spans: Iterable[str]) -> None:
    """Compute the sums of these spans again, in the caller's transaction."""
    if listed := sorted(set(spans)):
        statements.run(DEFAULT_DB_ALIAS, DELETE, [encode(listed)])
        statements.run(DEFAULT_DB_ALIAS, INSERT, [encode(listed)])


def rebuild() -> None:
    """Compute the sums of all spans that a range can reach again."""
    with transaction.atomic():
        SiteSpan.objects.all().delete()
        statements.run(DEFAULT_DB_ALIAS, INSERT, [encode(_find_spans())])


def are_wrong() -> bool:
    """Return whether the stored sums differ from those of the agents' rows."""
    with statements.read_transaction(DEFAULT_DB_ALIAS):
        computed = statements.read_rows(DEFAULT_DB_ALIAS, SUMS, [encode(_find_spans())])
        stored = SiteSpan.objects.filter(span__gte=_find_first_span()).values_list(*COLUMNS)
        return have_differences(COLUMNS, stored, computed)


def _find_spans():
    """Return the spans with rows of agents that a range can reach."""
    first = _find_first_span()
    spans: set[str] = set()
    for model, name in SOURCES.items():
        spans.update(model.objects.filter(**{f"{name}__gte": first}).values_list(name, flat=True).distinct())
    return sorted(spans)


def _find_first_span():
    """Return the first day that a range can reach; empty without any activity.

    Ranges end with the last day with activity, or today.
    """
    today = utc_day(clock.now_ms())
    known = AgentDailyStat.objects.filter(date__lte=today).order_by("-date")
    last = known.values_list("date", flat=True).first()
    return day_before(last, KEPT_DAYS - 1) if last else ""


def read_spans(first: str, last: str, agent_id: str = "") -> Mapping[str, SpanSums]:
    """Read the sums of the spans from `first` to `last`, both included, of all agents or of one.

    Both are of the same kind.
    """
    activity = AgentHour if "T" in first else AgentDailyStat
    if not agent_id:
        return _read_rows(SiteSpan.objects.filter(span__gte=first, span__lte=last), "T" in first)
    column = SOURCES[activity]
    bounds = {f"{column}__gte": first, f"{column}__lte": last}
    spans = dict(_read_rows(activity.objects.filter(agent_id=agent_id, **bounds), "T" in first))
    writes = MemorySpan.objects.filter(agent_id=agent_id, span__gte=first, span__lte=last)
    for span, sums in _read_rows(writes, "T" in first).items():
        spans.setdefault(span, SpanSums()).add(sums)
    return spans


def _read_rows(rows, are_hours):
    """The sums of rows of one table by their span; columns that it does not have are left out."""
    sums = {}
    for row in rows:
        span = getattr(row, SOURCES.get(type(row), "span"))
        if ("T" in span) == are_hours:
            sums[span] = SpanSums(
                Counter({name: getattr(row, name, 0) for name in (*COUNTS, *WRITES)}),
                getattr(row, "cost_usd", None),
                latency.merge_counts([getattr(row, "latency_json", "")]),
                read_models(getattr(row, "models_json", "")),
            )
    return sums


def find_last_moment() -> int | None:
    """Return the first millisecond of the last hour or day with activity; none of the future."""
    spans = SiteSpan.objects.filter(span__lte=hour_name(clock.now_ms() // HOUR_MS))
    active = spans.exclude(turn_count=0, error_count=0, total_tokens=0)
    last = active.order_by("-span").values_list("span", flat=True).first()
    return start_of(last) if last else None
