"""What an agent's own database keeps beside transcripts, as lists bounded by what they hold."""

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
    """One row: `cells` are shown behind `title`, in the order of its list's headings."""

    title: str
    note: str
    error: str
    state: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredList:
    """A list of one kind: what it is called, its columns, what is said when it is empty."""

    name: str
    label: Any
    headings: tuple[Any, ...]  # behind the title; the first is the state when `has_state`
    has_state: bool
    empty: Any
    order: tuple[str, ...]
    rows: Callable[[Agent], QuerySet]
    row: Callable[[Any], Row]


def read_page(agent: Agent, shown: StoredList, **place: Any) -> Page:
    """One page of a list. `place`: see page_of."""
    rows = _page(agent, shown, **place)
    made = Page(shown.row(one) for one in rows)
    made.next, made.previous = rows.next, rows.previous
    return made


def read_rows(agent: Agent, lists: tuple[StoredList, ...], name: str, **place: Any) -> Page:
    """The same as rows of the tables; `name` is that of one of `lists`."""
    return _page(agent, next(one for one in lists if one.name == name), **place)


def _page(agent, shown, **place):
    return page_of(shown.rows(agent), order=shown.order, **place, budget=BUDGET_CHARACTERS, weigh=_weight)


def _weight(one):
    return sum(len(value) for value in one.__dict__.values() if isinstance(value, str))


def build_row(title: str, *cells: Any, note: str = "", error: str = "", state: str = "") -> Row:
    """A `Row` of what a table holds; only some lists have notes, errors or states."""
    return Row(title, note, error, state, tuple(str(cell) for cell in cells))


def _indexed(one):
    cells = (number(one.chunk_count), size(one.size_bytes), ago(one.modified_at))
    return build_row(one.path, *cells, note=str(SOURCE_WORDS.get(one.source, one.source)))


def _vfs(one):
    note = " · ".join(word for word in (one.namespace, one.kind, one.handle) if word)
    return build_row(one.path, size(one.bytes), ago(one.updated_at), note=note)


STORED_LISTS = (
    StoredList(
        "memory",
        _("Memory index"),
        (_("Chunks"), _("Size"), _("Changed")),
        False,
        _("Files that the agent's memory search has indexed appear here."),
        ("database", "source", "path"),
        lambda agent: IndexedFile.objects.using(agent.db).all(),
        _indexed,
    ),
    StoredList(
        "files",
        _("Files in the database"),
        (_("Size"), _("Changed")),
        False,
        _("Some OpenClaw versions keep files of an agent in its database. Such files appear here."),
        ("namespace", "path"),
        lambda agent: VfsEntry.objects.using(agent.db).all(),
        _vfs,
    ),
)
