"""Reads rows as the database gives them.

Where there are very many, the ORM would take longer than reading them.
"""

from typing import Any

from django.db.models import QuerySet

from openclaw_web.sqlite import statements

PlainRow = tuple[Any, ...]


class PlainRows:
    """Fetches rows of `values_list` querysets unconverted: for columns of texts, numbers and bytes.

    A batch has as many rows as together come to about `budget`, judging by the length of `column` in the batch before.
    """

    FIRST, SMALLEST, BIGGEST = 200, 10, 1_000

    def __init__(self, column: int, *, db: str = "default", budget: int = 2_000_000):
        self.column = column
        self.db = db
        self.budget = budget
        self.size = self.FIRST

    def read_batch(self, rows: QuerySet[Any, Any]) -> tuple[list[PlainRow], bool]:
        """The first of these rows, and whether there may be more."""
        limit = self.size
        batch = statements.read_rows(self.db, *rows[:limit].query.sql_with_params())
        if batch:
            average = 1 + sum(len(row[self.column] or "") for row in batch) // len(batch)
            self.size = max(self.SMALLEST, min(self.BIGGEST, self.budget // average))
        return batch, len(batch) == limit
