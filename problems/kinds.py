"""What a kind of problem is. The setting PROBLEM_KINDS names the declaration of each, beside what it looks at."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.conf import settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string

Words = str | Promise
Facts = Mapping[str, Any]
# From here on a problem is an error, and a warning; below it is work that waits.
ERROR, WARNING = 70, 30
LONGEST_FACT = 300  # characters: facts may come from an agent
BY_COUNT = "by_count"  # the third argument of `ngettext_lazy` in a kind: the fact `count` chooses the form


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a check found: its subject, and the facts that its sentence is made of.

    A higher `level` is worse within a kind. `since` is the moment it began, None: not known. `severity` is another
    than that of its kind. `detail_json` are the facts as they are stored, with long texts cut: made here, so that facts
    that cannot be stored are a failure of their kind alone.
    """

    subject: str = ""
    facts: Facts | None = None
    agent_id: str = ""
    level: int = 0
    since: int | None = None
    severity: int | None = None
    detail_json: str = field(init=False)

    def __post_init__(self) -> None:
        facts = {
            name: shorten(value) if isinstance(value, str) else value for name, value in (self.facts or {}).items()
        }
        object.__setattr__(self, "detail_json", orjson.dumps(facts).decode())


@dataclass(frozen=True, slots=True)
class Link:
    """The page where something is done about a problem: its route and what stands in the address, and a verb for it."""

    label: Words
    route: str
    args: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of problem. Either `check()` looks at the whole site, or `check_agent(agent)` at one agent's file.

    Both yield findings, the worst first, and only read. `describe` is the sentence, with the facts by name: lazily
    translated, with two forms where the fact `count` chooses (BY_COUNT), or a function of the facts that returns such
    a text or the sentence itself. `link(facts)` is where something is done about it. Facts have the agent as `agent`.
    `probe()` names where an agent's file has rows when there may be something to find (`table WHERE condition`, each in
    an index): without such a row the file is not opened for this kind; None: it always is. A finding of a kind
    `is_of_files` says that the file of its agent cannot be used: that the agent was not checked is not said besides.
    People below `seen_by` are not told, people below `role` get no button. Facts that are `private` go when a problem
    ends.
    """

    label: Words
    severity: int
    describe: Words | Callable[[Facts], Words]
    link: Callable[[Facts], Link | None] = lambda _facts: None
    check: Callable[[], Iterable[Finding]] | None = None
    check_agent: Callable[[Any], Iterable[Finding]] | None = None
    probe: Callable[[], tuple[str, ...]] | None = None
    is_of_files: bool = False
    role: str = "operator"
    seen_by: str = "viewer"
    is_counted: bool = True
    private: tuple[str, ...] = ()


def names() -> list[str]:
    """Every kind there is."""
    return list(settings.PROBLEM_KINDS)


def all_kinds() -> dict[str, Kind]:
    """Every kind by its name."""
    return {name: import_string(path) for name, path in settings.PROBLEM_KINDS.items()}


def find(name: str) -> Kind | None:
    """The kind called so, or None: rows outlive their kinds."""
    path = settings.PROBLEM_KINDS.get(name)
    return import_string(path) if path else None


def labels() -> list[tuple[str, Words]]:
    """Every kind with its label, for a choice."""
    return [(name, kind.label) for name, kind in all_kinds().items()]


def visible_to(user: Any) -> list[str]:
    """The kinds that a person is told of."""
    return [name for name, kind in all_kinds().items() if user.has_role(kind.seen_by)]


def shorten(text: str) -> str:
    """A text as it is stored: cut, and with a code for each byte of a name that is not UTF-8."""
    return text[:LONGEST_FACT].encode(errors="backslashreplace").decode()
