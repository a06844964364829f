"""Writes to memory files by day, and pointers to the last ones, kept up to date while writes are recorded."""

from typing import Any

from django.db import transaction

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from openclaw_web import clock
from openclaw_web.sqlite import statements

from . import site_sums
from .first_page import memory_panel
from .models import MemorySpan
from .span_sums import DAY_MS, HOUR_MS, WRITES, SpanSums, differences, hour_name

KEPT_MS = 40 * DAY_MS  # the longest range, and some
HOURS_MS = 2 * DAY_MS
Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
COLUMNS = {
    Status.WRITTEN.value: "written_count",
    Status.ROLLED_BACK.value: "rolled_back_count",
    Status.REFUSED.value: "refused_count",
}
COUNTED = """
    SELECT created_at / 3600000, status, COUNT(*) FROM write_guardian_audit
    WHERE created_at >= %s AND origin <> 'rollback' GROUP BY 1, 2
"""


def refresh(agent: Agent) -> None:
    """Bring the rows of one agent up to what its file holds."""
    last = _last_moment(agent)
    after = _counts(agent.db, last) if last else {}
    rows = MemorySpan.objects.filter(agent_id=agent.agent_id)
    with transaction.atomic():
        before = {row.span: SpanSums.of_row(row) for row in rows}
        changes = list(differences(before, after))
        if changes:
            rows.filter(span__in=[span for span, _change in changes]).delete()
            MemorySpan.objects.bulk_create(_row(agent, span, after[span]) for span, _change in changes if span in after)
            site_sums.add(changes)
    memory_panel.refresh(agent)


def refresh_db(db: str, **_signal: Any) -> None:
    """The same after a write was recorded or rolled back. Where the sums cannot be stored now, an import does it."""
    agent = Agent.objects.filter(agent_id=db.removeprefix("agent_")).first()
    if agent:
        refresh(agent)


def counts_of(agent: Agent) -> dict[str, SpanSums]:
    """The spans of one agent, counted in its file."""
    last = _last_moment(agent)
    return _counts(agent.db, last) if last else {}


def _last_moment(agent) -> Any:
    rows = WriteGuardianAudit.objects.using(agent.db).filter(created_at__lte=clock.now_ms())
    return rows.order_by("-created_at").values_list("created_at", flat=True).first()


def _counts(db, last):
    """Days of the longest range and hours of the shortest, up to the last write."""
    spans: dict[str, SpanSums] = {}
    first = (last - KEPT_MS) // DAY_MS * DAY_MS
    for hour, status, count in statements.rows(db, COUNTED, [first]):
        if status not in COLUMNS or hour * HOUR_MS > last:
            continue
        name = hour_name(hour)
        for span in (name[:10], name) if hour * HOUR_MS >= last - HOURS_MS else (name[:10],):
            spans.setdefault(span, SpanSums()).counts[COLUMNS[status]] += count
    return spans


def _row(agent, span, sums):
    return MemorySpan(agent_id=agent.agent_id, span=span, **{name: sums.counts[name] for name in WRITES})
