"""What a list is, said once: its name, its filters and what fits them, the columns of its table and of its file.

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
# What a column is on the card that a row becomes on a phone: its first line, a value with its label, a value that needs
# none, one that has what is left of the line. Other columns are left out; of a list that says nothing all stand there.
TITLE, NAMED, PLAIN, REST = "t", "n", "p", "r"
# Name in ORDERS or nothing, label, is it a number, and what it is on a card where it stands there.
Column = tuple[str, Text, bool] | tuple[str, Text, bool, str]


@dataclass(frozen=True, slots=True)
class Words:
    """What a list says: how many rows (a lazy plural of `count`, with `shown`), its title, when empty."""

    counted: Text
    uncounted: Text
    none: Text
    how: Text
    command: str = ""
    icon: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """A list: what its page, its file, the API and the views that people keep of it have in common.

    `fits(whose, sort=…, **asked)` is the `Listing` of the rows that fit; `whose` is the agent of a list of one agent,
    of others the person who looks. `draw(labels, rows=…)` makes the HTML of the rows of a page; what it takes
    besides, or instead, `prepare(page, filters, whose)` makes. What begins with None or a lambda can be left out.
    """

    on: str  # its name: of kept views, of files, in the audit log
    words: Words
    filters: type[ListFilters]
    fits: Callable[..., Listing]
    columns: tuple[Column, ...]
    table: type[Model]  # whose rows it lists
    fields: tuple[str, ...]  # of the file, mostly `file_columns` of the table
    prepare: Callable[[Page, ListFilters, Any], Mapping[str, Any]] = lambda page, _filters, _whose: {"rows": page}
    read: Callable[[QuerySet], QuerySet] = lambda rows: rows  # what a page reads of each row
    beside: Callable[[ListFilters], Mapping[str, Any]] = lambda _filters: {}  # what else the page shows
    # How many rows `whose` list has without filters, counted in so many ms: where there is a quicker way to say it.
    count: Callable[[Any, int], RowCount] | None = None
    # How many rows each segment of `whose` list has without filters, by its name, counted in about so many ms.
    amounts: Callable[[Any, int], Mapping[str, RowCount]] | None = None
    # The rows of the file as dictionaries, where they are not the `fields` of what is read, and how one is written.
    file: Callable[[QuerySet], QuerySet] | None = None
    shape: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def card(self) -> str:
        """The classes of its table that make two lines of a row on a phone (app.css), for columns by their number."""
        marks = [(column[3], number) for number, column in enumerate(self.columns, start=1) if len(column) > 3]
        if marks and TITLE not in dict(marks):
            marks.insert(0, (TITLE, 1))
        return " ".join(["card" if marks else "", *(f"card-{mark}{number}" for mark, number in marks)]).strip()


def file_columns(table: type[Model], *first: str) -> tuple[str, ...]:
    """The columns of a list's file: those that are named, then what else the fields of the table show in files."""
    return tuple(dict.fromkeys((*first, *(field.attname for field in get_shown_fields(table, "file")))))


def shows(what):
    """Say of a view which list it shows: that is how the site's addresses know all lists."""

    def mark(view):
        view.shows = what
        return view

    return mark


def find_lists() -> dict[str, List]:
    """Every list that an address of the site shows, by its name."""
    return {what.on: what for what in _shown(get_resolver())}


def _shown(resolver):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _shown(entry)
        elif what := getattr(entry.callback, "shows", None):
            yield what
