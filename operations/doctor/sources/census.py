"""A census of the files of a home's agents: read, skipped, new or unaccounted for.

It lists the files itself: files that the importer's listing misses would never be noticed otherwise.
"""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import zstandard

from agents.homes import NEVER_FOLDERS, HomeAgent, NotReadable, is_utf8_name, open_regular
from agents.models import CollectorSource, SkippedSource
from agents.skipped_sources import is_unchanged
from agents.sources import SourceBook
from openclaw_web.pages.glyphs import escape_name

from .home_sources import LEFT, Source

Reason = SkippedSource.Reason
MOST_FILES, MOST_DEEP = 200_000, 40
STRAY_DEEP = 5  # depth of the search in folders that no import lists
HEAD_BYTES, HEAD_LINES = 64 * 1024, 20
AGENTS = "agents"
PACKED = b"\x28\xb5\x2f\xfd"  # the first bytes of zstd frames
OWN_FOLDERS = ("sessions", "agent", "session-sqlite-import-archive")  # folders of an agent that imports list
# Temporary files beside transcripts and databases, whether or not an import has seen them.
PASSING = {
    Reason.LOCK: re.compile(r".+\.lock"),
    Reason.TEMPORARY: re.compile(r".+\.tmp|.+\.tmp[-.][^.]+|.+~"),
    Reason.DATABASE: re.compile(r".+\.sqlite-(wal|shm|journal)"),
}
# Reasons that follow from a file's content: they are valid until the file changes.
OF_CONTENT = frozenset({Reason.NOT_TRANSCRIPT, Reason.EMPTY, Reason.FAILED, Reason.UNREADABLE})
# Reasons that a file which begins as a transcript contradicts.
CONTRADICTED = frozenset({Reason.NOT_TRANSCRIPT, Reason.LOCK, Reason.NOT_LISTED})


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file or folder that no import read and that has no reason to be skipped.

    `is_listed`: the next import reads it. `reason` is the stored reason that its content contradicts.
    """

    path: str
    agent: str
    is_listed: bool
    count: int = 1
    reason: str = ""


@dataclass(slots=True)
class Census:
    """Counts of the files of agents; `skipped` are names by reason."""

    file_count: int = 0
    read: int = 0
    new: int = 0
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unread: list[UnreadFile] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)  # folders that could not be listed to their end

    @property
    def skipped_count(self) -> int:
        return sum(map(len, self.skipped.values()))


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    about: os.stat_result
    agent: str  # empty: of no agent that is imported
    is_listed: bool


class CensusTaker:
    """Takes the census of one home.

    `names` maps the home's agents to agents here; `sources` are the files that imports see.
    """

    def __init__(self, root: Path, agents: Iterable[HomeAgent], names: dict[str, str], sources: Iterable[Source]):
        self.root, self.agents, self.names = root, list(agents), names
        self.census, self.book = Census(), SourceBook(root)
        self._sources = {source.name: source for source in sources}
        rows = CollectorSource.objects.filter(root=str(root)).exclude(kind=CollectorSource.Kind.AGENT)
        self._read = set(rows.values_list("path", flat=True))
        self._imported = set(rows.order_by().values_list("agent_id", flat=True).distinct())
        skipped = SkippedSource.objects.filter(root=str(root)).exclude(kind=SkippedSource.Kind.INDEX_ENTRY)
        self._skipped = {row.path: row for row in skipped.iterator()}
        self._workspaces = {folder for home_agent in self.agents for folder in home_agent.workspaces}
        self._listed: list[Path] = []
        self._seen = 0
        self._strays: dict[Path, list[str]] = defaultdict(list)

    def take(self, odd: Iterable[str] = ()) -> Census:
        """Count every file; `odd` are folders that are known to be unread."""
        odd = {self.root / path for path in odd}
        for place, agent, is_listed in self._find_folders():
            for file in self._walk(place, agent, is_listed=is_listed, odd=odd):
                self._count_file(file)
        for folder, names in sorted(self._strays.items()):
            agent = self._find_owner(folder)
            self.census.unread.append(UnreadFile(self._format_name(folder / names[0]), agent, False, len(names)))
            self.census.file_count += len(names)
        return self.census

    def _find_folders(self) -> Iterator[tuple[Path, str, bool]]:
        """Every folder to search, as (folder, agent, whether imports list it)."""
        listed: dict[Path, str] = {}
        for home_agent in self.agents:
            agent = self.names[home_agent.home_name]
            own = [home_agent.folder / name for name in OWN_FOLDERS] if home_agent.folder else []
            database_folders = [path.parent for path in (home_agent.database, *home_agent.more_databases) if path]
            for place in filter(None, (*own, *home_agent.session_folders, home_agent.agent_dir, *database_folders)):
                listed.setdefault(place, agent)
        # Below a folder that holds all agents, only transcripts are files of an agent: it is searched for strays.
        shared = {place for place in listed if (self.root / AGENTS).is_relative_to(place)}
        places = sorted(listed.keys() - shared, key=lambda place: len(place.parts))
        self._listed = [
            folder for folder in places if not any(folder != other and folder.is_relative_to(other) for other in places)
        ]
        yield from ((place, listed[place], True) for place in self._listed)
        yield self.root, "", False

    def _walk(self, place, agent, *, is_listed, odd) -> Iterator[_File]:
        """Yield every file below a folder. Links are not followed.

        Files that disappear meanwhile are ignored.
        """
        waiting = [(place, 0)]
        while waiting:
            folder, depth = waiting.pop()
            if folder in odd or self._is_skipped(folder, is_listed=is_listed):
                continue
            if depth > (MOST_DEEP if is_listed else STRAY_DEEP) or self._seen > MOST_FILES:
                self.census.unlisted += [self._format_name(folder)] if is_listed else []
                continue
            for entry in self._list_entries(folder):
                path, self._seen = Path(entry.path), self._seen + 1
                try:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((path, depth + 1))
                    else:
                        yield _File(path, entry.stat(follow_symlinks=False), agent, is_listed)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.census.unlisted.append(self._format_name(path))

    def _is_skipped(self, folder, *, is_listed):
        """Whether a folder is searched elsewhere, or never."""
        row = self._skipped.get(self._format_name(folder))
        if folder in self._workspaces or (row is not None and row.kind == SkippedSource.Kind.FOLDER):
            return True
        is_workspace = folder.parent == self.root and folder.name.startswith("workspace")
        return not is_listed and (is_workspace or folder in self._listed or folder.name in NEVER_FOLDERS)

    def _list_entries(self, folder):
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self.census.unlisted.append(self._format_name(folder))
            return []

    def _count_file(self, file):
        if not file.is_listed:
            if self._is_stray(file):
                self._strays[file.path.parent].append(file.path.name)
            return
        name = self._format_name(file.path)
        self.census.file_count += 1
        source = self._sources.get(name)
        if source is not None and source.is_to_read:
            self.census.new += 1
        elif name in self._read:
            self.census.read += 1
        elif reason := self._find_reason(file, name, source):
            if reason in CONTRADICTED and self._is_transcript(file):
                self.census.unread.append(UnreadFile(name, file.agent, is_listed=False, reason=reason))
            else:
                self.census.skipped[reason].append(name)
        elif file.agent not in self._imported:
            self.census.new += 1
        else:
            self.census.unread.append(UnreadFile(name, file.agent, is_listed=True))

    def _find_reason(self, file, name, source) -> str:
        """The reason why a file was skipped; empty without one, or when the file has changed."""
        row = self._skipped.get(name)
        if row is not None and (row.reason not in OF_CONTENT or is_unchanged(row, file.about)):
            return str(row.reason)
        if source is not None and source.state == LEFT:
            return source.why
        if row is not None and not self._is_transcript(file):
            return str(row.reason)
        return next((str(reason) for reason, names in PASSING.items() if names.fullmatch(file.path.name)), "")

    def _is_stray(self, file):
        """Whether a file outside all folders of agents is a transcript, which no import reads."""
        name = file.path.name.lower()
        is_known = self._format_name(file.path) in self._read | self._skipped.keys()
        return ".jsonl" in name and not is_known and any(map(_is_header, self._read_head(file)))

    def _is_transcript(self, file):
        return any(map(_is_record, self._read_head(file)))

    def _read_head(self, file) -> list[dict[str, Any]]:
        """The objects in the first lines of a file; none when it cannot be opened."""
        if not stat.S_ISREG(file.about.st_mode):
            return []
        root = self.root if file.path.is_relative_to(self.root) else file.path.parent
        try:
            with open_regular(root, file.path) as opened:
                data = opened.read(HEAD_BYTES)
        except NotReadable:
            return []
        return list(_read_records(_unpack(data)))

    def _find_owner(self, folder):
        names = [name for name in self.names if folder.is_relative_to(self.root / AGENTS / name)]
        return self.names[names[0]] if names else ""

    def _format_name(self, path):
        name = self.book.name(path)
        return name if is_utf8_name(name) else escape_name(name)


def _unpack(data):
    if not data.startswith(PACKED):
        return data
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)[:HEAD_BYTES]
    except zstandard.ZstdError:
        return b""


def _read_records(data) -> Iterator[dict[str, Any]]:
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:HEAD_LINES]:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield value


def _is_record(record):
    message = record.get("message")
    is_message = record.get("type") == "message" and isinstance(message, dict) and isinstance(message.get("role"), str)
    return is_message or _is_header(record)


def _is_header(record):
    return record.get("type") == "session" and isinstance(record.get("id"), str)
