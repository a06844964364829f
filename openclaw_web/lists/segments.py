"""The segments of a list: parts that are shown alone, said once for its page, its file and the API.

What a page shows at first is one of them; files and the API show everything unless they are asked. How: docs/lists.md.
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
    """Rows whose column is one of `among`, or none of `without`; those without either are all rows.

    `column`: where it is another one than that of the `Segments`.
    """

    label: str | Promise
    among: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a list by the value of one column: `first` is what its page shows without filters.

    With `is_first_optional` the page shows everything when the first one has no rows.
    """

    label: str | Promise
    column: str
    first: str
    parts: Mapping[str, Segment]
    is_first_optional: bool = False

    def term(self, name: str) -> list[Term]:
        """What fits a segment, as conditions of the list."""
        part = self.parts[name or ALL]
        column = part.column or self.column
        if len(part.among) == 1:  # that is what an index of the column serves
            return [Term(column, "exact", part.among[0])]
        if part.among:
            return [Term(column, "in", part.among)]
        return [Term(column, "without", part.without)] if part.without else []

    def amounts(self, count: Callable[[str], Mapping[str, RowCount]]) -> dict[str, RowCount]:
        """How many rows each segment has; `count(column)` counts those of each value, empty: nobody knows."""
        columns = dict.fromkeys(part.column or self.column for part in self.parts.values())
        known = {column: count(column) for column in columns}
        return {
            name: _sum([amount for value, amount in values.items() if _has(part, value)])
            for name, part in self.parts.items()
            if (values := known[part.column or self.column])
        }


EVERYTHING = Segment(_("All"))


def _has(part, value):
    return value in part.among if part.among else value not in part.without


def _sum(amounts: list[RowCount]) -> RowCount:
    return RowCount(sum(amount.count for amount in amounts), any(amount.is_more for amount in amounts))


def choices(segments: Segments | None) -> list[tuple[str, Any]]:
    """The names of the segments with their labels, in order."""
    return [(name, part.label) for name, part in segments.parts.items()] if segments else []
