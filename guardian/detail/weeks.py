"""Counts writes, refusals, failures and rollbacks by week, with links to their lists."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

import orjson
from django.db import OperationalError
from django.db.models import Count, ExpressionWrapper, F, IntegerField
from django.urls import reverse
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.statistics.figures import monday_of
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import start_of
from openclaw_web.pages import states
from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.formatting import day_in_words, days_in_words
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.time_limits import time_box

from ..models import WriteGuardianAudit

WEEK_MS = 7 * 86_400_000
WEEKS = (12, 26, 52)  # the first is the default
BUDGET_MS = 2_000
KINDS = ("written", "rolled_back", "refused", "failed", "skipped", "rollbacks")
TONES = ("ok", "info", "warn", "bad", "muted", "accent")  # of the kinds
Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
# Stretches of an index, counted one by one: to group all rows SQLite sorts them.
STRETCHES = f"""SELECT weeks.value, kinds.value, (SELECT count(*) FROM write_guardian_audit
    WHERE {{column}} = kinds.value AND created_at >= %s + weeks.value * %s AND created_at < %s + (weeks.value + 1) * %s)
    FROM {dialect.json_array("weeks")} CROSS JOIN {dialect.json_array("kinds")}"""  # noqa: S608


@dataclass(slots=True)
class Week:
    """One ISO week with the number of its writes by status; rollbacks are counted apart."""

    start: date
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    unattributed: int = 0  # of those written

    @property
    def end(self) -> date:
        """Its last day."""
        return self.start + timedelta(days=6)

    @property
    def api_fields(self) -> dict[str, Any]:
        return {"first_day": self.start, "last_day": self.end, "unattributed": self.unattributed, **self.counts}

    @property
    def total(self) -> int:
        """The number of all writes of the week."""
        return sum(self.counts.values())


def count_weeks(agent: Agent, *, file: str = "", weeks: int = WEEKS[0]) -> list[Week]:
    """Count the writes of the last weeks up to this one, oldest first; `file` narrows them.

    Raises Refused when counting takes too long.
    """
    first = monday_of(clock.day_of(clock.now_ms())) - timedelta(weeks=weeks - 1)
    week_counts = [Week(first + timedelta(weeks=number)) for number in range(weeks)]
    start = start_of(first)
    with time_box(agent.db, BUDGET_MS) as is_up:
        try:
            rows = WriteGuardianAudit.objects.using(agent.db)
            rows = rows.filter(created_at__gte=start, created_at__lt=start + len(week_counts) * WEEK_MS)
            rows = rows.filter(target_file=file) if file else rows.filter(origin=Origin.ROLLBACK)
            number = ExpressionWrapper((F("created_at") - start) / WEEK_MS, output_field=IntegerField())
            sums = (
                rows.annotate(week=number)
                .values_list("week", "status", "origin")
                .annotate(amount=Count("*"))
                .order_by()
            )
            for at, status, origin, amount in sums:
                week = week_counts[at]
                if origin == Origin.ROLLBACK:
                    week.counts["rollbacks"] += amount
                    week.counts[status] -= 0 if file else amount  # these rows are counted below as well
                else:
                    week.counts[status] += amount
                    week.unattributed += amount if origin == Origin.UNATTRIBUTED else 0
            if not file:
                for at, status, amount in _count_ranges(agent.db, "status", week_counts, start, Status.values):
                    week_counts[at].counts[status] += amount
                for at, _origin, amount in _count_ranges(agent.db, "origin", week_counts, start, [Origin.UNATTRIBUTED]):
                    week_counts[at].unattributed = amount
        except OperationalError as exc:
            if not is_up(exc):
                raise
            raise Refused(_("There are too many writes to count. Choose fewer weeks.")) from exc
    return week_counts


def _count_ranges(db, column, weeks, start, values):
    listed = [orjson.dumps(values_list).decode() for values_list in (list(range(len(weeks))), values)]
    return statements.read_rows(db, STRETCHES.format(column=column), [start, WEEK_MS, start, WEEK_MS, *listed])


def get_labels() -> dict[str, str]:
    return {kind: str(states.word(kind)) for kind in KINDS[:-1]} | {KINDS[-1]: _("Rollbacks")}


def build_address(agent: Agent, week: Week | None, file: str = "", kind: str = "") -> str:
    filters = {"file": file} | ({"segment": kind} if kind in ("rollbacks", "unattributed") else {})
    filters |= {"status": kind, "segment": "writes"} if kind in KINDS[:-1] else {}
    filters |= {"from": str(week.start), "to": str(week.end)} if week else {}
    query = urlencode({name: value for name, value in filters.items() if value})
    return f"{reverse('guardian:audit_list', args=[agent.agent_id])}?{query}"


def build_addresses(agent: Agent, week: Week, file: str = "") -> dict[str, str]:
    """Return the addresses of the lists behind each number of a week."""
    return {kind: build_address(agent, week, file, kind) for kind in (*KINDS, "unattributed")}


def build_chart(agent: Agent, weeks: list[Week], file: str) -> Chart:
    """Build a bar chart of weeks; each bar leads to its writes."""
    points = [_build_point(agent, week, file) for week in weeks]
    series = [Series(word, tone) for word, tone in zip(get_labels().values(), TONES, strict=True)]
    return bar_chart(points, title=_("Writes by week (UTC)"), unit=_("Week"), series=series)


def _build_point(agent, week, file):
    short = day_in_words(week.start, has_year=False)
    return Point(
        days_in_words(week.start, week.end), short, tuple(week.counts.values()), build_address(agent, week, file)
    )
