"""Segments of a list: parts with a name, for its page, its file and the API.

A page shows one of them at first; files and the API show everything unless a segment is named. See docs/lists.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from .list_counts import RowCount
from .paging import Term

NAME = "segment"  # in addresses of pages, of files and of the API
ALL = "all"


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows with a value of `among`, or without any of `without`; else all rows.

    `column` is set where it is not that of the `Segments`.
    """

    label: str | Promise
    among: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a list by the value of one column.

    `first` is the segment that the page shows without filters.

    With `is_first_optional` the page shows everything when the first one has no rows.
    """

    label: str | Promise
    column: str
    first: str
    parts: Mapping[str, Segment]
    is_first_optional: bool = False

    def term(self, name: str) -> list[Term]:
        """The conditions of a segment, for `build_listing`."""
        part = self.parts[name or ALL]
        column = part.column or self.column
        if len(part.among) == 1:  # an index of the column serves this lookup
            return [Term(column, "exact", part.among[0])]
        if part.among:
            return [Term(column, "in", part.among)]
        return [Term(column, "without", part.without)] if part.without else []

    def amounts(self, count: Callable[[str], Mapping[str, RowCount] | None]) -> dict[str, RowCount] | None:
        """Count the rows of each segment; None when that takes too long.

        `count(column)` returns a count for each value of a column, None when there was no time.
        """
        columns = dict.fromkeys(part.column or self.column for part in self.parts.values())
        known = {column: count(column) for column in columns}
        if None in known.values():
            return None
        return {
            name: sum_counts([amount for value, amount in values.items() if _contains(part, value)])
            for name, part in self.parts.items()
            if (values := known[part.column or self.column])
        }


EVERYTHING = Segment(_("All"))


def _contains(part, value):
    return value in part.among if part.among else value not in part.without


def sum_counts(amounts: list[RowCount]) -> RowCount:
    """Add up counts; the sum is “at least” when one of them is."""
    return RowCount(sum(amount.count for amount in amounts), any(amount.is_more for amount in amounts))


def choices(segments: Segments | None) -> list[tuple[str, Any]]:
    """The names of the segments with their labels, in order."""
    return [(name, part.label) for name, part in segments.parts.items()] if segments else []
