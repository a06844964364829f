"""Sources of texts: each table with words declares one, beside the code that knows its rows.

`openclaw_web.declared_kinds` names them all. A source reads new texts for the index, and the rows of what the index has
found. It leaves out what nobody may read today: both times.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from openclaw_web.sqlite.word_index import Entries, Step, WordIndex

from . import words

Key = int | str
# What a text is, in the order of a page; `thinking` and `call` are fields of texts of an agent.
KINDS = {
    "user": _("People said"),
    "agent": _("Agents said"),
    "thinking": _("Thinking"),
    "call": _("Tool calls"),
    "result": _("Tool results"),
    "summary": _("Summaries and notices"),
    "memory": _("Lines of memory files"),
    "fact": _("Decisions and writes"),
    "file": _("Other files"),
    "sample": _("Samples"),
    "artifact": _("Artifacts"),
    "task": _("Scheduled tasks and background work"),
    "episode": _("Episodes"),
}
GROUPS = {
    "conversations": (_("Conversations"), ("user", "agent", "thinking", "call", "result", "summary")),
    "knowledge": (_("Memory"), ("memory", "fact", "file")),
    "training": (_("Training"), ("sample",)),
    "rest": (_("Other texts"), ("artifact", "task", "episode")),
}
GROUP_OF = {kind: group for group, (_label, kinds) in GROUPS.items() for kind in kinds}
FIELDS_OF = {"thinking": "agent", "call": "agent"}  # kinds that are fields of texts of another kind
# Of equally good hits those come first which a person wrote, and the outputs of tools last.
RANKS = (
    "user",
    "memory",
    "fact",
    "agent",
    "sample",
    "episode",
    "task",
    "file",
    "summary",
    "thinking",
    "call",
    "artifact",
)
MARK = "\ue000"  # begins the entry of a kind, which no text has: it is no letter


class Removed(Exception):
    """Texts that were indexed are not stored any more: the index is built again, without their words."""


@dataclass(slots=True)
class Item:
    """One row with words. `fields` are its texts by name; that of the kind itself has its name.

    Of hits, `title` says where it stands, `href` leads there, and `facts` has what filters ask for, and more for pages.
    """

    key: Key
    at: int  # milliseconds
    kind: str
    fields: dict[str, str]
    title: str = ""
    href: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def build_entries(self) -> Entries:
        """The entries of its texts for the index, with that of its kind."""
        marks = f"{MARK}{self.kind} {MARK}{GROUP_OF[self.kind]}"
        return Entries(self.key, self.at, f"{marks} {words.index_text(chr(10).join(self.fields.values()))}")


class Source(Protocol):
    """A table or a few of them. `db` is the alias of an agent's file, or `default`."""

    name: str
    is_global: bool

    def read_new(self, db: str, index: WordIndex) -> Iterator[Step]:
        """Read what the index does not have yet, in steps. Raises Removed."""
        ...

    def count_rows(self, db: str) -> int:
        """Count the rows, also those without words."""
        ...

    def read_items(self, db: str, places: Collection[tuple[str, Key]]) -> dict[tuple[str, Key], Item]:
        """Read rows by part and key; those that are gone, or that nobody may read, have no entry."""
        ...


@cache
def get_sources(*, is_global: bool) -> dict[str, Source]:
    """Return the sources of agents' files, or those of the global one, by name; none of a disabled capability."""
    paths = [path for path in settings.SEARCH_SOURCES if path.partition(".")[0] not in settings.DISABLED]
    sources: list[Source] = [import_string(path) for path in paths]
    return {source.name: source for source in sources if source.is_global == is_global}


def list_texts(value: Any, without: Collection[str] = ()) -> list[str]:
    """The texts and numbers of a JSON value, in any order, without the values of some keys; keys are none of them."""
    texts, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            stack += [child for key, child in part.items() if key not in without]
        elif isinstance(part, list):
            stack += part
        elif part is not None and not isinstance(part, bool):
            texts.append(str(part))
    return texts
