"""The declaration of a list: name, filters, query, columns of its table and of its file.

How to add a list: docs/lists.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from django.urls import URLResolver, get_resolver
from django.utils.functional import Promise

from ..sqlite.fields import get_shown_fields
from .filters import ListFilters
from .list_counts import RowCount
from .paging import Listing, Page

Text = str | Promise
# The role of a column on the card that a row becomes on a phone: title line, value with its label, value without a
# label, value that takes the rest of the line. Columns without a role are left out, unless no column has one.
TITLE, NAMED, PLAIN, REST = "t", "n", "p", "r"
# Name in ORDERS or "", label, whether it is a number, and its role on a card if it has one.
Column = tuple[str, Text, bool] | tuple[str, Text, bool, str]


@dataclass(frozen=True, slots=True)
class Words:
    """Texts of a list: number of rows, title, and texts of an empty list.

    `counted` is a lazy plural of `count`, with `shown` as the number in words. With `is_imported` an empty list
    leads to the imports.
    """

    counted: Text
    uncounted: Text
    none: Text
    how: Text
    is_imported: bool = False
    icon: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """A list, as shared by its page, its file, the API and saved views.

    `fits(whose, sort=…, **criteria)` returns the `Listing` of the matching rows. `whose` is the agent for a list of one
    agent, else the person who looks. `draw(labels, rows=…)` renders the rows of a page; `prepare(page, filters, whose)`
    returns its arguments. Fields with a default can be left out.
    """

    on: str  # its name, for saved views, files and the audit log
    words: Words
    filters: type[ListFilters]
    fits: Callable[..., Listing]
    columns: tuple[Column, ...]
    table: type[Model]  # whose rows it lists
    fields: tuple[str, ...]  # of the file, mostly `file_columns` of the table
    prepare: Callable[[Page, ListFilters, Any], Mapping[str, Any]] = lambda page, _filters, _whose: {"rows": page}
    is_prepared_from_file: bool = False  # whether `prepare` reads nothing but the agent's file and the rows
    read: Callable[[QuerySet], QuerySet] = lambda rows: rows  # what a page reads of each row
    beside: Callable[[ListFilters], Mapping[str, Any]] = lambda _filters: {}  # what else the page shows
    # Count the rows without filters, within a number of ms, where there is a quicker way than a query.
    count: Callable[[Any, int], RowCount] | None = None
    # Count the rows of each segment without filters, by its name, within about a number of ms.
    amounts: Callable[[Any, int], Mapping[str, RowCount] | None] | None = None
    # The rows of the file as dictionaries, where they are not the `fields` of the rows, and how to write one.
    file: Callable[[QuerySet], QuerySet] | None = None
    shape: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    uncached: tuple[str, ...] = ()  # filters of an agent's list whose rows depend on more than the agent's file

    @property
    def card(self) -> str:
        """CSS classes of the table that lay a row out as a card on a phone.

        See app.css; columns are named by their number.
        """
        marks = [(column[3], number) for number, column in enumerate(self.columns, start=1) if len(column) > 3]
        if marks and TITLE not in dict(marks):
            marks.insert(0, (TITLE, 1))
        return " ".join(["card" if marks else "", *(f"card-{mark}{number}" for mark, number in marks)]).strip()


def file_columns(table: type[Model], *first: str) -> tuple[str, ...]:
    """The columns of a list's file: `first`, then those that the table shows in files."""
    return tuple(dict.fromkeys((*first, *(field.attname for field in get_shown_fields(table, "file")))))


def shows(declaration):
    """Mark a view as the page of a list, so that `find_lists` finds it."""

    def mark(view):
        view.shows, view.takes_agent = declaration, "agent" in declaration.filters.base_fields
        return view

    return mark


def find_lists() -> dict[str, List]:
    """Find every list that an address of the site shows, by its name."""
    return {declaration.on: declaration for declaration in _iterate_lists(get_resolver())}


def _iterate_lists(resolver):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _iterate_lists(entry)
        elif declaration := getattr(entry.callback, "shows", None):
            yield declaration
