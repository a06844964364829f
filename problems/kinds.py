"""Kinds of problems.

The setting PROBLEM_KINDS names the declaration of each, beside what it checks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.conf import settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from openclaw_web import sentences

Words = str | Promise
Facts = Mapping[str, Any]
# From here on a problem is an error, and a warning; below it is work that waits.
ERROR, WARNING = 70, 30
LONGEST_FACT = 300  # characters: facts may come from an agent
BY_COUNT = "by_count"  # the third argument of `ngettext_lazy` in a kind: the fact `count` chooses the form


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a check found: its subject, and the facts of its sentence.

    A higher `level` is worse within a kind. `since` is the moment it began (ms), None: not known. `severity` replaces
    that of its kind. `detail_json` are the facts as they are stored, with long texts cut: made here, so that facts that
    cannot be stored are a failure of their kind alone.
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
    """The page where something is done about a problem.

    It has a verb as its label, the route, and what stands in the address.
    """

    label: Words
    route: str
    args: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of problem.

    Either `check()` checks the whole site, or `check_agent(agent)` one agent's file. Both yield findings, the worst
    first, and only read.

    `describe` is the sentence, with the facts by name: lazily translated, with two forms where the fact `count` chooses
    (BY_COUNT), or a function of the facts that returns such a text or the sentence itself. `link(facts)` is where
    something is done about it. Facts have the agent as `agent`.

    `probe()` names where an agent's file has rows when there may be something to find (`table WHERE condition`, each in
    an index): without such a row the file is not opened for this kind; None: it always is. A finding of a kind
    `is_of_files` says that the file of its agent cannot be used: that the agent was not checked is not said besides.

    People below `seen_by` do not see the problem, people below `role` get no button. Facts that are `private` are
    removed when a problem ends.

    `causes` are the kinds of problems that this one brings about, each with a test of the other's facts: `causes.py`.
    The fact `agents` names the agents that a problem without an agent is about; without it, it is about all.
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
    causes: Mapping[str, Callable[[Facts], bool]] = field(default_factory=dict)


def is_any(_facts: Facts) -> bool:
    """Accept every problem of a kind in `Kind.causes`."""
    return True


def names() -> list[str]:
    """Return the names of all kinds."""
    return list(settings.PROBLEM_KINDS)


def all_kinds() -> dict[str, Kind]:
    """Return all kinds by name."""
    return {name: import_string(path) for name, path in settings.PROBLEM_KINDS.items()}


def find(name: str) -> Kind | None:
    """Return the kind with this name, or None: rows outlive their kinds."""
    path = settings.PROBLEM_KINDS.get(name)
    return import_string(path) if path else None


def labels() -> list[tuple[str, Words]]:
    """Return the names of all kinds with their labels, for a choice."""
    return [(name, kind.label) for name, kind in all_kinds().items()]


def visible_to(user: Any) -> list[str]:
    """Return the names of the kinds that a person may see."""
    return [name for name, kind in all_kinds().items() if user.has_role(kind.seen_by)]


def shorten(text: str) -> str:
    """Return a text as it is stored: a sentence for readers of all languages; any other text cut, and in UTF-8.

    A byte of a name that is not UTF-8 becomes a code.
    """
    if isinstance(text, sentences.Sentence) and len(text) <= LONGEST_FACT:
        return sentences.encode(text)
    return text[:LONGEST_FACT].encode(errors="backslashreplace").decode()
