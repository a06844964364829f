"""Counts rows within a limit and a time.

A count that would be slow becomes an honest “at least”.
"""

from dataclasses import dataclass

from django.core.exceptions import EmptyResultSet
from django.db import OperationalError
from django.utils.translation import gettext as _

from ..sqlite import statements
from ..sqlite.time_limits import time_box

COUNTED_UP_TO = 10_000
BUDGET_MS = 100


@dataclass(frozen=True, slots=True)
class RowCount:
    """A number of rows; with `is_more` there are at least that many."""

    count: int
    is_more: bool = False


def format_count(amount: RowCount, *, at_least: int = 0) -> str:
    """Format a count as `1,234`, or `at least 10,000`.

    `at_least` is the number of rows that the page shows.
    """
    number = f"{max(amount.count, at_least):,}"
    return _("at least %(count)s") % {"count": number} if amount.is_more else number


def count_rows(rows, *, column="pk", up_to=COUNTED_UP_TO, budget_ms=BUDGET_MS):
    """Count the rows of a queryset, up to `up_to` and for about `budget_ms` milliseconds.

    `column` is the one that is read from each row; a column in the index of the filter costs least.
    """
    known, step = 0, 100
    try:
        counted, values = rows.order_by().values(column).query.get_compiler(rows.db).as_sql()  # once for all steps
    except EmptyResultSet:
        return RowCount(0)
    with time_box(rows.db, budget_ms) as is_up:
        try:
            while True:
                limit = min(step, up_to)
                query = f"SELECT COUNT(*) FROM ({counted} LIMIT {limit + 1}) some"  # noqa: S608 - by Django
                (count,) = statements.read_row(rows.db, query, values)
                if count <= limit:
                    return RowCount(count)
                if limit == up_to:
                    return RowCount(limit, True)
                known, step = limit, step * 10
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return RowCount(known, True)
