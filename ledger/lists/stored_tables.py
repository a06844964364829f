"""The memory index and the files in an agent's own database, as lists."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web.lists.paging import Page, page_of
from openclaw_web.pages.formatting import ago, number, size

from ..models import IndexedFile, VfsEntry
from ..words import SOURCE_WORDS

BUDGET_CHARACTERS = 1_000_000


@dataclass(slots=True)
class Row:
    """One row: `cells` follow `title`, in the order of its list's headings."""

    title: str
    note: str
    error: str
    state: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredList:
    """A list of one kind: its name, its columns, and its text when it is empty."""

    name: str
    label: Any
    headings: tuple[Any, ...]  # after the title; the first is the state when `has_state`
    has_state: bool
    empty: Any
    order: tuple[str, ...]
    rows: Callable[[Agent], QuerySet]
    row: Callable[[Any], Row]


def read_page(agent: Agent, stored_list: StoredList, **place: Any) -> Page:
    """One page of a list; for `place` see page_of."""
    rows = _read_page(agent, stored_list, **place)
    result = Page(stored_list.row(entry) for entry in rows)
    result.next, result.previous = rows.next, rows.previous
    return result


def read_rows(agent: Agent, lists: tuple[StoredList, ...], name: str, **place: Any) -> Page:
    """One page of a list as rows of its table; `name` names one of `lists`."""
    return _read_page(agent, next(stored_list for stored_list in lists if stored_list.name == name), **place)


def _read_page(agent, stored_list, **place):
    def weigh(entry):
        return sum(len(value) for value in entry.__dict__.values() if isinstance(value, str))

    return page_of(stored_list.rows(agent), order=stored_list.order, **place, budget=BUDGET_CHARACTERS, weigh=weigh)


def build_row(title: str, *cells: Any, note: str = "", error: str = "", state: str = "") -> Row:
    """A `Row` of a stored entry; only some lists have notes, errors or states."""
    return Row(title, note, error, state, tuple(str(cell) for cell in cells))


def _build_memory_row(file):
    cells = (number(file.chunk_count), size(file.size_bytes), ago(file.modified_at))
    return build_row(file.path, *cells, note=str(SOURCE_WORDS.get(file.source, file.source)))


def _build_file_row(entry):
    note = " · ".join(word for word in (entry.namespace, entry.kind, entry.handle) if word)
    return build_row(entry.path, size(entry.bytes), ago(entry.updated_at), note=note)


STORED_LISTS = (
    StoredList(
        "memory",
        _("Memory index"),
        (_("Chunks"), _("Size"), _("Changed")),
        False,
        _("Files that the agent's memory search has indexed appear here."),
        ("database", "source", "path"),
        lambda agent: IndexedFile.objects.using(agent.db).all(),
        _build_memory_row,
    ),
    StoredList(
        "files",
        _("Files in the database"),
        (_("Size"), _("Changed")),
        False,
        _("Some OpenClaw versions keep files of an agent in its database. Such files appear here."),
        ("namespace", "path"),
        lambda agent: VfsEntry.objects.using(agent.db).all(),
        _build_file_row,
    ),
)
