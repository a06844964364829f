"""Writes, refusals, failures and rollbacks by week: how many there were, and where their rows are."""

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
from gate.statistics.figures import day_of, monday_of, start_of
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.formatting import day_in_words
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.time_limits import time_box

from ..models import WriteGuardianAudit

WEEK_MS = 7 * 86_400_000
WEEKS = (12, 26, 52)  # of which the first is usual
BUDGET_MS = 2_000
KINDS = ("written", "rolled_back", "refused", "failed", "skipped", "rollbacks")
TONES = ("ok", "info", "warn", "bad", "muted", "accent")  # of the same
Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
# Stretches of an index, counted one by one: to group all rows SQLite sorts them.
STRETCHES = f"""SELECT weeks.value, kinds.value, (SELECT count(*) FROM write_guardian_audit
    WHERE {{column}} = kinds.value AND created_at >= %s + weeks.value * %s AND created_at < %s + (weeks.value + 1) * %s)
    FROM {dialect.json_array("weeks")} CROSS JOIN {dialect.json_array("kinds")}"""  # noqa: S608


@dataclass(slots=True)
class Week:
    """One ISO week: how many writes of it have each status; rollbacks, which are writes as well, are counted apart."""

    start: date
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    unattributed: int = 0  # of those written

    @property
    def end(self) -> date:
        """Its last day."""
        return self.start + timedelta(days=6)

    @property
    def api_fields(self) -> dict[str, Any]:
        """As the API tells it."""
        return {"first_day": self.start, "last_day": self.end, "unattributed": self.unattributed, **self.counts}

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.counts.values())


def count_weeks(agent: Agent, *, file: str = "", weeks: int = WEEKS[0]) -> list[Week]:
    """The last weeks up to this one, the oldest first; `file` narrows them. Refused when counting takes too long."""
    first = monday_of(day_of(clock.now_ms())) - timedelta(weeks=weeks - 1)
    found = [Week(first + timedelta(weeks=number)) for number in range(weeks)]
    start = start_of(first)
    with time_box(agent.db, BUDGET_MS) as is_up:
        try:
            _count(agent.db, found, start, file)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            raise Refused(_("There are too many writes to count. Choose fewer weeks.")) from exc
    return found


def _count(db, found, start, file):
    """Fill in the weeks: of one file from its rows; of all files from stretches of indexes, and rows of rollbacks."""
    rows = WriteGuardianAudit.objects.using(db)
    rows = rows.filter(created_at__gte=start, created_at__lt=start + len(found) * WEEK_MS)
    rows = rows.filter(target_file=file) if file else rows.filter(origin=Origin.ROLLBACK)
    number = ExpressionWrapper((F("created_at") - start) / WEEK_MS, output_field=IntegerField())
    sums = rows.annotate(week=number).values_list("week", "status", "origin").annotate(amount=Count("*")).order_by()
    for at, status, origin, amount in sums:
        week = found[at]
        if origin == Origin.ROLLBACK:
            week.counts["rollbacks"] += amount
            week.counts[status] -= 0 if file else amount  # of those that are counted below
        else:
            week.counts[status] += amount
            week.unattributed += amount if origin == Origin.UNATTRIBUTED else 0
    if not file:
        for at, status, amount in _stretches(db, "status", found, start, Status.values):
            found[at].counts[status] += amount
        for at, _origin, amount in _stretches(db, "origin", found, start, [Origin.UNATTRIBUTED]):
            found[at].unattributed = amount


def _stretches(db, column, found, start, values):
    """The week, the value and how many, for each value of a column that has an index with the time."""
    listed = [orjson.dumps(each).decode() for each in (list(range(len(found))), values)]
    return statements.read_rows(db, STRETCHES.format(column=column), [start, WEEK_MS, start, WEEK_MS, *listed])


def get_labels() -> dict[str, str]:
    """What each kind is called."""
    return {kind: str(states.word(kind)) for kind in KINDS[:-1]} | {KINDS[-1]: _("Rollbacks")}


def build_address(agent: Agent, week: Week | None, file: str = "", kind: str = "") -> str:
    """The list of the writes of a week, or of those of one kind."""
    asked = {"file": file} | ({"segment": kind} if kind in ("rollbacks", "unattributed") else {})
    asked |= {"status": kind, "segment": "writes"} if kind in KINDS[:-1] else {}
    asked |= {"from": str(week.start), "to": str(week.end)} if week else {}
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{reverse('guardian:audit_list', args=[agent.agent_id])}?{query}"


def build_addresses(agent: Agent, week: Week, file: str = "") -> dict[str, str]:
    """The lists behind each number of a week."""
    return {kind: build_address(agent, week, file, kind) for kind in (*KINDS, "unattributed")}


def build_chart(agent: Agent, weeks: list[Week], file: str) -> Chart:
    """Bars of weeks; a bar leads to its writes."""
    points = [_point(agent, week, file) for week in weeks]
    series = [Series(word, tone) for word, tone in zip(get_labels().values(), TONES, strict=True)]
    return bar_chart(points, title=_("Writes by week (UTC)"), unit=_("Week"), series=series)


def _point(agent, week, file):
    short = day_in_words(week.start, has_year=False)
    return Point(format_week(week), short, tuple(week.counts.values()), build_address(agent, week, file))


def format_week(week: Week) -> str:
    """Its days in words."""
    return f"{day_in_words(week.start, has_year=False)} – {day_in_words(week.end)}"
