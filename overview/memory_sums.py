"""Counts of writes to memory files by day and hour, refreshed as writes are recorded."""

from django.db import transaction

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from openclaw_web import clock
from openclaw_web.sqlite import statements

from . import site_sums
from .first_page import memory_panel
from .models import MemorySpan
from .span_sums import AHEAD_MS, DAY_MS, HOUR, HOUR_MS, HOUR_SPAN, WRITES, have_differences, hour_name

KEPT_MS = 40 * DAY_MS  # the longest range, and some
HOURS_MS = 2 * DAY_MS
COLUMNS = ("span", *WRITES)
STATUSES = ("written", "rolled_back", "refused")  # in the order of WRITES
COUNTED = f"""
    WITH writes AS MATERIALIZED (
        SELECT {HOUR} AS hour, status, COUNT(*) AS count FROM write_guardian_audit
        WHERE created_at >= %s AND created_at <= %s AND origin <> 'rollback' AND status IN {STATUSES} GROUP BY 1, 2),
    spans AS (
        SELECT substr({HOUR_SPAN}, 1, 10) AS span, status, count FROM writes
        UNION ALL SELECT {HOUR_SPAN}, status, count FROM writes WHERE hour >= %s)
    SELECT span, {", ".join(f"SUM(CASE WHEN status = '{status}' THEN count ELSE 0 END)" for status in STATUSES)}
    FROM spans GROUP BY span
"""  # noqa: S608


def refresh(agent: Agent) -> None:
    """Refresh the rows of one agent from its file."""
    counted = set(count_writes(agent))
    rows = MemorySpan.objects.filter(agent_id=agent.agent_id)
    with transaction.atomic():
        stored = set(rows.values_list(*COLUMNS))
        changed = {row[0] for row in stored ^ counted}
        rows.filter(span__in=[row[0] for row in stored - counted]).delete()
        MemorySpan.objects.bulk_create(
            MemorySpan(agent_id=agent.agent_id, **dict(zip(COLUMNS, row, strict=True))) for row in counted - stored
        )
        site_sums.refresh(changed)
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

    def select_comparable(rows):
        return [row for row in rows if (first_hour if "T" in row[0] else first_day) <= row[0] <= now]

    stored = MemorySpan.objects.filter(agent_id=agent.agent_id).values_list(*COLUMNS)
    return have_differences(COLUMNS, select_comparable(stored), select_comparable(count_writes(agent)))


def count_writes(agent: Agent) -> list[tuple[str, int, int, int]]:
    """Count the writes of one agent in its file, by day and by recent hour: the span, and a number for each of WRITES.

    Writes of a clock that runs ahead are in future spans: they count once their time has come.
    """
    last = _find_last_moment(agent)
    first = (last - KEPT_MS) // DAY_MS * DAY_MS
    return statements.read_rows(agent.db, COUNTED, [first, clock.now_ms() + AHEAD_MS, last - HOURS_MS])


def _find_last_moment(agent) -> int:
    """Return when the last write was made, without those of the future."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(created_at__lte=clock.now_ms())
    return rows.order_by("-created_at").values_list("created_at", flat=True).first() or clock.now_ms()
