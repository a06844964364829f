"""Counts of writes to memory files by day and hour, refreshed as writes are recorded."""

from django.db import transaction

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from openclaw_web import clock
from openclaw_web.sqlite import statements

from . import site_sums
from .first_page import memory_panel
from .models import MemorySpan
from .span_sums import AHEAD_MS, DAY_MS, HOUR_MS, WRITES, SpanSums, are_different, find_changes, hour_name, is_day

KEPT_MS = 40 * DAY_MS  # the longest range, and some
HOURS_MS = 2 * DAY_MS
Status = WriteGuardianAudit.Status
COLUMNS = {
    Status.WRITTEN.value: "written_count",
    Status.ROLLED_BACK.value: "rolled_back_count",
    Status.REFUSED.value: "refused_count",
}
COUNTED = """
    SELECT created_at / 3600000, status, COUNT(*) FROM write_guardian_audit
    WHERE created_at >= %s AND created_at <= %s AND origin <> 'rollback' GROUP BY 1, 2
"""


def refresh(agent: Agent) -> None:
    """Refresh the rows of one agent from its file."""
    after = count_writes(agent)
    rows = MemorySpan.objects.filter(agent_id=agent.agent_id)
    with transaction.atomic():
        before = {row.span: SpanSums.from_row(row) for row in rows}
        changes = list(find_changes(before, after))
        if changes:
            rows.filter(span__in=[span for span, _change in changes]).delete()
            MemorySpan.objects.bulk_create(
                _build_row(agent, span, after[span]) for span, _change in changes if span in after
            )
            site_sums.add_changes(changes)
    memory_panel.refresh(agent)


def refresh_alias(db: str) -> None:
    """Refresh the agent of a database alias; MEMORY_SUMS of the settings names this function."""
    agent = Agent.objects.filter(agent_id=db.removeprefix("agent_")).first()
    if agent:
        refresh(agent)


def is_wrong(agent: Agent) -> bool:
    """Return whether the stored spans of one agent differ from its file.

    Spans that appear or expire with time alone are not compared: those of the future, and those before the stored
    range.
    """
    last, now = _find_last_moment(agent), hour_name(clock.now_ms() // HOUR_MS)
    first_day, first_hour = hour_name((last - KEPT_MS) // HOUR_MS)[:10], hour_name((last - HOURS_MS) // HOUR_MS + 1)

    def select_comparable(spans):
        firsts = {True: first_day, False: first_hour}
        return {span: sums for span, sums in spans.items() if firsts[is_day(span)] <= span <= now}

    stored = {row.span: SpanSums.from_row(row) for row in MemorySpan.objects.filter(agent_id=agent.agent_id)}
    return are_different(select_comparable(stored), select_comparable(count_writes(agent)))


def count_writes(agent: Agent) -> dict[str, SpanSums]:
    """Count the writes of one agent in its file, by day and by recent hour.

    Writes of a clock that runs ahead are in future spans: they count once their time has come.
    """
    last = _find_last_moment(agent)
    spans: dict[str, SpanSums] = {}
    first = (last - KEPT_MS) // DAY_MS * DAY_MS
    for hour, status, count in statements.read_rows(agent.db, COUNTED, [first, clock.now_ms() + AHEAD_MS]):
        if status not in COLUMNS:
            continue
        name = hour_name(hour)
        for span in (name[:10], name) if hour * HOUR_MS >= last - HOURS_MS else (name[:10],):
            spans.setdefault(span, SpanSums()).counts[COLUMNS[status]] += count
    return spans


def _find_last_moment(agent) -> int:
    """Return when the last write was made, without those of the future."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(created_at__lte=clock.now_ms())
    return rows.order_by("-created_at").values_list("created_at", flat=True).first() or clock.now_ms()


def _build_row(agent, span, sums):
    return MemorySpan(agent_id=agent.agent_id, span=span, **{name: sums.counts[name] for name in WRITES})
