"""Reads agents and their places from `openclaw.json`.

Other parts of the file are not kept, as it holds keys.

Source format: JSON5. An object or a list may be replaced by `{"$include": "other.json5"}`, or by a list of files,
relative to the file that names them and below the home. Objects are merged, lists joined, and names beside the
directive have precedence.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web import json5

from . import openclaw_version

NAME = "openclaw.json"
INCLUDE = "$include"
READ = (INCLUDE, "agents", "session", "meta")  # the parts that are read; of the last two, one name each
MOST_BYTES = 4 * 1024 * 1024
MOST_FILES = 20
MOST_DEEP = 10
LAST_LEVEL = 3  # the file, `agents`, its `list` or `entries`, one agent


class NotUsable(Exception):
    """A file that cannot be opened, is too big or is not JSON5.

    The message says why.
    """


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """The places of one agent, as the configuration writes them."""

    workspace: str | None = None
    agent_dir: str | None = None
    is_default: bool = False


@dataclass(slots=True)
class HomeConfiguration:
    """The agents and their places as written, and a sentence for each file that failed."""

    agents: dict[str, AgentEntry] = field(default_factory=dict)
    workspace: str | None = None  # agents.defaults.workspace
    store: str | None = None  # session.store: the path of the index
    version: str = ""  # meta.lastTouchedVersion, as written
    is_by_id: bool = False  # OpenClaw 2026.9 and later: an entry without a workspace has one below the default
    problems: list[str] = field(default_factory=list)

    @property
    def default_agent(self) -> str:
        """Return the name of the agent that has the default workspace.

        That is the first marked agent, else the first, else main.
        """
        marked = [name for name, entry in self.agents.items() if entry.is_default]
        return next(iter([*marked, *self.agents]), "main")


def read_configuration(root: Path, open_bytes: Callable[[Path, int], bytes]) -> HomeConfiguration:
    """Return the agents of the home at `root`.

    `open_bytes` returns the first bytes of a file, or raises NotUsable.
    """
    reader, configured = _Reader(root, open_bytes), HomeConfiguration()
    config = reader.file(root / NAME, 0, ())
    if not isinstance(config, dict):
        reader.problems.append(_build_problem(NAME, _("the file does not contain an object")))
    section = _get_object(_get_object(config).get("agents"))
    for name, entry in _entries(section):
        places = (_get_text(entry.get("workspace")), _get_text(entry.get("agentDir")))
        configured.agents[name] = AgentEntry(*places, is_default=entry.get("default") is True)
    configured.workspace = _get_text(_get_object(section.get("defaults")).get("workspace"))
    configured.store = _get_text(_get_object(_get_object(config).get("session")).get("store"))
    configured.version = _get_text(_get_object(_get_object(config).get("meta")).get("lastTouchedVersion")) or ""
    release = openclaw_version.parse(configured.version)
    configured.is_by_id = bool(release and release[:2] >= (2026, 9)) if configured.version else "ownership" in section
    configured.problems = reader.problems
    return configured


def _entries(section) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = section.get("list")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            yield entry["id"], entry
    for name, entry in _get_object(section.get("entries")).items():
        yield name, _get_object(entry)


def _get_text(value):
    """Return a text without characters that no path can have; None when it is empty."""
    return value.replace("\0", "").strip() or None if isinstance(value, str) else None


def _get_object(value):
    return value if isinstance(value, dict) else {}


class _Reader:
    """Reads files, and replaces directives by the included files.

    A file that fails is noted as a sentence, and counts as empty.
    """

    def __init__(self, root, open_bytes):
        self.root, self.open_bytes = root, open_bytes
        self.problems: list[str] = []
        self.count = 0

    def file(self, path, level, chain):
        """Return the parts of a file about agents; `chain` are the files that include it."""
        name = path.relative_to(self.root).as_posix()
        try:
            data = self.open_bytes(path, MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise NotUsable(_("the file is larger than %(size)s MB") % {"size": MOST_BYTES // 1024**2})
            value = json5.loads(data)
        except (NotUsable, json5.NotJson) as exc:
            self.problems.append(_build_problem(name, exc))
            return {}
        return self.resolved(value, level, (*chain, path))

    def resolved(self, value, level, chain):
        if level > LAST_LEVEL:
            return value
        if isinstance(value, list):
            return [self.resolved(item, level + 1, chain) for item in value]
        if not isinstance(value, dict):
            return value
        read_parts = value if level else {name: value[name] for name in READ if name in value}
        own = {name: self.resolved(part, level + 1, chain) for name, part in read_parts.items() if name != INCLUDE}
        if INCLUDE not in value:
            return own
        included = self.included(value[INCLUDE], level, chain)
        return merged(included, own) if own else included

    def included(self, names, level, chain):
        content = {}
        for name in names if isinstance(names, list) else [names]:
            if path := self.place(name, chain):
                part = self.file(path, level, chain)
                content = merged(content, part) if isinstance(names, list) else part
        return content

    def place(self, name, chain):
        """Return the file that a directive names; None for a file that is not read.

        A sentence says why it is not read.
        """
        self.count += 1
        path = None
        if isinstance(name, str) and "\0" not in name:
            path = Path(_normalise(chain[-1].parent / name))
        if path is None or not path.is_relative_to(self.root):
            reason = _("only files in the OpenClaw folder are read")
        elif path in chain or len(chain) > MOST_DEEP or self.count > MOST_FILES:
            reason = _("too many files include each other")
        else:
            return path
        if self.count <= MOST_FILES + 1:
            self.problems.append(_build_problem(_escape_name(name), reason))
        return None


def _escape_name(name):
    text = name[:200] if isinstance(name, str) else INCLUDE
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _normalise(path):
    """Return a path without `..`, by its text alone.

    Links are refused when the file is opened.
    """
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1] or parts
        else:
            parts.append(part)
    return Path(*parts)


def merged(first: Any, second: Any, depth: int = LAST_LEVEL) -> Any:
    """Merge two parts of a configuration as OpenClaw does.

    Objects are merged by name and lists joined; otherwise the second part replaces the first.
    """
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    if not depth or not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    both = {name: merged(first[name], second[name], depth - 1) for name in first.keys() & second.keys()}
    return {**first, **second, **both}


def _build_problem(name, reason):
    words = _("%(file)s was not read because %(reason)s: agents and workspaces named only there are missing.")
    return words % {"file": name, "reason": reason}
