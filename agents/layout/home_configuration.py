"""Which agents `openclaw.json` names and which places it gives them. Nothing else of it is kept: it holds keys.

Source format: JSON5. In place of an object or a list there may be `{"$include": "other.json5"}`, or a list of files,
relative to the file that names them and below the home: objects are merged, lists joined, and what stands beside the
directive wins.
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
READ = (INCLUDE, "agents", "session", "meta")  # what is looked at; of the last two a name each
MOST_BYTES = 4 * 1024 * 1024
MOST_FILES = 20
MOST_DEEP = 10
LAST_LEVEL = 3  # the file, `agents`, its `list` or `entries`, one agent


class NotUsable(Exception):
    """A file that cannot be opened, is too big or is no JSON5: the words say why."""


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """The places of one agent, as the configuration writes them."""

    workspace: str | None = None
    agent_dir: str | None = None
    is_default: bool = False


@dataclass(slots=True)
class HomeConfiguration:
    """The roster of agents with their places as written, and a sentence about each file that failed."""

    agents: dict[str, AgentEntry] = field(default_factory=dict)
    workspace: str | None = None  # agents.defaults.workspace
    store: str | None = None  # session.store: the path of the index
    version: str = ""  # meta.lastTouchedVersion, as written
    is_by_id: bool = False  # OpenClaw 2026.9 and later: an entry without a workspace has one below the default
    problems: list[str] = field(default_factory=list)

    @property
    def default_agent(self) -> str:
        """The name of the agent that has the default workspace: the first marked one, else the first, else main."""
        marked = [name for name, entry in self.agents.items() if entry.is_default]
        return next(iter([*marked, *self.agents]), "main")


def read_configuration(root: Path, open_bytes: Callable[[Path, int], bytes]) -> HomeConfiguration:
    """The agents of the home at `root`. `open_bytes` gives the first bytes of a file or raises NotUsable."""
    reader, configured = _Reader(root, open_bytes), HomeConfiguration()
    config = reader.file(root / NAME, 0, ())
    if not isinstance(config, dict):
        reader.problems.append(_problem(NAME, _("the file does not contain an object")))
    section = _object(_object(config).get("agents"))
    for name, entry in _entries(section):
        places = (_text(entry.get("workspace")), _text(entry.get("agentDir")))
        configured.agents[name] = AgentEntry(*places, is_default=entry.get("default") is True)
    configured.workspace = _text(_object(section.get("defaults")).get("workspace"))
    configured.store = _text(_object(_object(config).get("session")).get("store"))
    configured.version = _text(_object(_object(config).get("meta")).get("lastTouchedVersion")) or ""
    release = openclaw_version.parse(configured.version)
    configured.is_by_id = bool(release and release[:2] >= (2026, 9)) if configured.version else "ownership" in section
    configured.problems = reader.problems
    return configured


def _entries(section) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = section.get("list")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            yield entry["id"], entry
    for name, entry in _object(section.get("entries")).items():
        yield name, _object(entry)


def _text(value):
    """A text with something in it, without the characters that no path can have."""
    return value.replace("\0", "").strip() or None if isinstance(value, str) else None


def _object(value):
    return value if isinstance(value, dict) else {}


class _Reader:
    """Reads files and puts included ones in their places; a file that fails is a sentence and counts as empty."""

    def __init__(self, root, open_bytes):
        self.root, self.open_bytes = root, open_bytes
        self.problems: list[str] = []
        self.count = 0

    def file(self, path, level, chain):
        """What a file holds, as far as it is about agents; `chain` are the files that led here."""
        name = path.relative_to(self.root).as_posix()
        try:
            data = self.open_bytes(path, MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise NotUsable(_("the file is larger than %(size)s MB") % {"size": MOST_BYTES // 1024**2})
            value = json5.loads(data)
        except (NotUsable, json5.NotJson) as exc:
            self.problems.append(_problem(name, exc))
            return {}
        return self.resolved(value, level, (*chain, path))

    def resolved(self, value, level, chain):
        if level > LAST_LEVEL:
            return value
        if isinstance(value, list):
            return [self.resolved(item, level + 1, chain) for item in value]
        if not isinstance(value, dict):
            return value
        wanted = value if level else {name: value[name] for name in READ if name in value}
        own = {name: self.resolved(part, level + 1, chain) for name, part in wanted.items() if name != INCLUDE}
        if INCLUDE not in value:
            return own
        included = self.included(value[INCLUDE], level, chain)
        return merged(included, own) if own else included

    def included(self, names, level, chain):
        found = {}
        for name in names if isinstance(names, list) else [names]:
            if path := self.place(name, chain):
                part = self.file(path, level, chain)
                found = merged(found, part) if isinstance(names, list) else part
        return found

    def place(self, name, chain):
        """The file that a directive names; None for one that is not read, with a sentence."""
        self.count += 1
        path = None
        if isinstance(name, str) and "\0" not in name:
            path = Path(_normal(chain[-1].parent / name))
        if path is None or not path.is_relative_to(self.root):
            reason = _("only files in the OpenClaw folder are read")
        elif path in chain or len(chain) > MOST_DEEP or self.count > MOST_FILES:
            reason = _("too many files include each other")
        else:
            return path
        if self.count <= MOST_FILES + 1:
            self.problems.append(_problem(_readable(name), reason))
        return None


def _readable(name):
    text = name[:200] if isinstance(name, str) else INCLUDE
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _normal(path):
    """Without `..`, by its words alone: links are refused when it is opened."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1] or parts
        else:
            parts.append(part)
    return Path(*parts)


def merged(first: Any, second: Any, depth: int = LAST_LEVEL) -> Any:
    """Two parts of a configuration as OpenClaw merges them: objects by name, lists joined, else the second."""
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    if not depth or not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    both = {name: merged(first[name], second[name], depth - 1) for name in first.keys() & second.keys()}
    return {**first, **second, **both}


def _problem(name, reason):
    words = _("%(file)s was not read because %(reason)s: agents and workspaces named only there are missing.")
    return words % {"file": name, "reason": reason}
