"""The book of sources: which files were read, and how far.

With it, a second import reads only new content.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from openclaw_web.clock import now_ms
from openclaw_web.disk import packing

from .models import CollectorSource, ReaderState

HEAD = TAIL = 4096
MAX_COLUMN = 2**63 - 1
# Agents may share a workspace or a folder of sessions: each agent must read its own part or copy of such files.
OF_AGENTS = frozenset({CollectorSource.Kind.WORKSPACE_FILE, CollectorSource.Kind.SESSION_INDEX})
TRANSCRIPT = CollectorSource.Kind.TRANSCRIPT
SAVED = [field.name for field in CollectorSource._meta.concrete_fields if not field.primary_key]
# The name of a transcript inside a database.
PART = re.compile(r".+\.sqlite(?:#(?P<live>.+)|!(?P<archived>.+)/[^/]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """The byte from which a file is to be read, and why."""

    offset: int
    why: str  # new, appended, truncated, replaced
    tail: "Tail"  # the last bytes before `offset`

    @property
    def goes_on(self) -> bool:
        """Return whether reading continues where it stopped, instead of at the start."""
        return self.offset > 0


@dataclass(slots=True)
class Tail:
    """The last bytes that were read before `end` of a file; `take` adds more.

    They cannot be read again later: the file may have been truncated and have grown meanwhile.
    """

    end: int = 0
    data: bytes = b""

    def take(self, raw: bytes) -> None:
        """Add the bytes that were read from `end` on."""
        self.end += len(raw)
        self.data = raw[-TAIL:] if len(raw) >= TAIL else (self.data + raw)[-TAIL:]


@dataclass(frozen=True, slots=True)
class DatabasePart:
    """A transcript inside a database, and how far it was read.

    Everything before `end` was read, `count` records; another `mark` means that it was rewritten.
    """

    end: int
    count: int
    mark: str


class ReadFile(NamedTuple):
    """The book's notes of a file; `session_id` is empty when it was never read."""

    name: str
    is_known: bool  # it has not changed since it was read
    session_id: str
    is_named: bool  # an index named it as the transcript of its session when it was read


@dataclass(slots=True)
class SourceRow:
    """A row of `collector_sources` in memory, without what follows from it. There are as many as files."""

    kind: str
    path: str
    agent_id: str
    session_id: str = ""
    byte_offset: int = 0
    is_named: bool = False
    inode: int = 0
    size_bytes: int = 0
    mtime_ns: int = 0
    head_bytes: int = 0
    head_sha256: str = ""
    tail_sha256: str = ""

    @property
    def state(self) -> tuple[int, int, int]:
        """Return what `get_file_state` gave when the file was read."""
        return self.inode, self.size_bytes, self.mtime_ns


COLUMNS = tuple(field.name for field in fields(SourceRow))


class SourceBook:
    """The rows of `collector_sources` of one home, read when they are first needed: transcripts and all others."""

    def __init__(self, root: Path):
        self.root = root
        self._unsaved: dict[str, SourceRow] | None = None  # by key, in a block of `save_together`

    @cached_property
    def _transcripts(self) -> dict[tuple[str, ...], SourceRow]:
        return self._load(kind=TRANSCRIPT)

    @cached_property
    def _others(self) -> dict[tuple[str, ...], SourceRow]:
        return self._load(kind__in=set(CollectorSource.Kind) - {TRANSCRIPT, CollectorSource.Kind.AGENT})

    @cached_property
    def _by_session(self) -> dict[str, tuple[SourceRow, ...]]:
        rows: dict[str, tuple[SourceRow, ...]] = {}
        for row in self._transcripts.values():
            if session_id := _get_session(row):
                rows[session_id] = (*rows.get(session_id, ()), row)
        return rows

    def _load(self, **kinds):
        rows = {}
        stored = CollectorSource.objects.filter(root=str(self.root), **kinds)
        for kind, path, agent_id, *values in stored.values_list(*COLUMNS).iterator():
            names = sys.intern(kind), path, sys.intern(agent_id)
            rows[build_row_key(*names)] = SourceRow(*names, *values)
        return rows

    def _rows_of(self, kind):
        return self._transcripts if kind == TRANSCRIPT else self._others

    def _find(self, kind, path, agent_id=""):
        return self._rows_of(kind).get(build_row_key(kind, self.name(path), agent_id))

    @contextmanager
    def save_together(self) -> Iterator[None]:
        """Write all rows that are saved in the block in one statement at its end."""
        self._unsaved = {}
        try:
            yield
            self._store(self._unsaved)
        finally:
            self._unsaved = None

    def find_session(self, path: Path) -> str:
        """Return the session of a transcript file; empty when it was never read."""
        row = self._find(TRANSCRIPT, path)
        return _get_session(row) if row else ""

    def name_current(self, path: Path, *, is_named: bool) -> None:
        """Note whether an index names a read file as the transcript of its session."""
        row = self._find(TRANSCRIPT, path)
        if row is not None and row.is_named != is_named:
            row.is_named = is_named
            self._write(row)

    def find_read(self, files: Iterable[Any], kind: str = TRANSCRIPT) -> list[ReadFile]:
        """Return what is noted of files, which have `path` and `stat`, in their order: one call for a whole folder.

        `kind` is none of the kinds that agents share.
        """
        read_files = []
        for file in files:
            name = get_relative_name(self.root, file.path)
            row = self._rows_of(kind).get((kind, name))
            read_files.append(
                ReadFile(
                    name,
                    is_known=row is not None and row.state == get_file_state(file.stat),
                    session_id=_get_session(row) if row else "",
                    is_named=row is not None and row.is_named,
                )
            )
        return read_files

    def find_agent(self, path: Path) -> str:
        """Return the agent that a transcript was read for; empty when it was never read."""
        row = self._find(TRANSCRIPT, path)
        return row.agent_id if row else ""

    def find_session_agent(self, session_id: str) -> str:
        """Return the agent whose session's transcripts were read; empty for none."""
        return next((row.agent_id for row in self._by_session.get(session_id, ())), "")

    def has_others(self, agent_id: str, session_id: str, name: str) -> bool:
        """Return whether a session was also read from sources with other names."""
        return any(row.agent_id == agent_id and row.path != name for row in self._by_session.get(session_id, ()))

    def move(self, path: Path, session_id: str) -> None:
        """Note that a read file is the transcript of this session, instead of another one."""
        row = self._find(TRANSCRIPT, path)
        if row is not None and row.session_id != session_id:
            self._forget_session(row)
            row.session_id = session_id
            self._write(row)
            self._note_session(row)

    def is_known(self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str = "") -> bool:
        """Return whether a file has not changed since it was read, and need not be opened.

        `agent_id` matters for files that agents may share: each agent reads them.
        """
        row = self._find(kind, path, agent_id)
        return row is not None and row.state == get_file_state(stat)

    def offset(self, kind: str, path: Path, *, agent_id: str = "") -> int:
        """Return how many bytes of a file were read; 0 for a new one.

        `agent_id` as in `is_known`.
        """
        row = self._find(kind, path, agent_id)
        return row.byte_offset if row else 0

    def has_other_files(self, workspace: Path, agent_id: str) -> bool:
        """Return whether files of an agent's earlier workspace were read."""
        kind, folder = CollectorSource.Kind.WORKSPACE_FILE, f"{self.name(workspace)}/"
        own = (row.path for row in self._others.values() if (row.kind, row.agent_id) == (kind, agent_id))
        inside = (name.removeprefix(folder) if name.startswith(folder) else "/" for name in own)
        return any("/" in name and not name.startswith("memory/") for name in inside)

    def find_position(self, kind: str, path: Path, file: BinaryIO) -> ReadPosition:
        """Return where to continue in an opened file that has changed."""
        row = self._find(kind, path)
        if row is None:
            return ReadPosition(0, "new", Tail())
        stat = os.fstat(file.fileno())
        if stat.st_size < row.byte_offset:
            return ReadPosition(0, "truncated", Tail())
        same_head = hashlib.sha256(file.read(row.head_bytes)).hexdigest() == row.head_sha256
        tail = _read_tail(file, row.byte_offset)
        # A file that was truncated and has grown past its old size has the same head and another tail.
        same_tail = row.byte_offset == 0 or hashlib.sha256(tail.data).hexdigest() == row.tail_sha256
        # With equal length but another time, or another inode, the change is only found by reading the whole file.
        is_other = get_file_state(stat)[0] != row.inode or stat.st_size == row.size_bytes
        if not (same_head and same_tail) or is_other:
            return ReadPosition(0, "replaced", Tail())
        return ReadPosition(row.byte_offset, "appended", tail)

    def find_resume_position(self, kind: str, path: Path, file: BinaryIO) -> ReadPosition | None:
        """Return where to continue in an opened file; None when it must be read again.

        The file may be unchanged.
        """
        row = self._find(kind, path)
        if row and self.is_known(kind, path, os.fstat(file.fileno())):
            return ReadPosition(row.byte_offset, "appended", _read_tail(file, row.byte_offset))
        reading = self.find_position(kind, path, file)
        return reading if reading.goes_on else None

    def load_reader_state(self, kind: str, path: Path, how: str) -> bytes | None:
        """Return the stored memory of a reader of this kind; None when there is none.

        `how` identifies the way in which the file is read.
        """
        row = ReaderState.objects.filter(
            source_key=compute_source_key(self.root, kind, self.name(path)), how=how
        ).first()
        return packing.unpack(bytes(row.state_zstd)) if row else None

    def save_reader_state(self, kind: str, path: Path, how: str, state: bytes | None) -> None:
        """Store the memory of a reader; None deletes it."""
        key = compute_source_key(self.root, kind, self.name(path))
        if state is None:
            ReaderState.objects.filter(source_key=key).delete()
        else:
            columns = {"how": how, "state_zstd": packing.pack(state)}
            ReaderState.objects.update_or_create(source_key=key, defaults=columns)

    def was_read(
        self,
        path: Path,
        stat: os.stat_result,
        how: str,
        *,
        kind: str = CollectorSource.Kind.DATABASE,
        agent_id: str = "",
    ) -> bool:
        """Return whether a database, log, index or artifact is unchanged since it was read.

        It must have been read in the same way (`how`).

        `agent_id` as in `is_known`.
        """
        row = self._find(kind, path, agent_id)
        return row is not None and row.state == get_file_state(stat) and row.head_sha256 == _sha256(how)

    def part(self, name: str) -> "DatabasePart | None":
        """Return how far a transcript inside a database was read."""
        row = self._transcripts.get((TRANSCRIPT, name))
        return DatabasePart(row.byte_offset, row.size_bytes, row.head_sha256) if row else None

    def parts(self, prefix: str) -> list[str]:
        """Return the names of the transcripts of one database."""
        return [row.path for row in self._transcripts.values() if row.path.startswith(prefix)]

    def save_part(self, name: str, part: "DatabasePart", *, agent_id: str) -> None:
        """Store how far a transcript inside a database was read."""
        self._save(CollectorSource.Kind.TRANSCRIPT, name, (0, part.count, 0), agent_id, part.end, (0, part.mark, ""))

    def forget_part(self, name: str) -> None:
        """Delete the row of a transcript that was removed, or must be read again.

        It may be in a database, or a file of its own.
        """
        row = self._transcripts.pop((TRANSCRIPT, name), None)
        if row is not None:
            self._forget_session(row)
            self._delete(row)

    def save(
        self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str, offset: int, session_id: str = ""
    ) -> None:
        """Store that a file which does not grow was read whole.

        `stat` is its state when it was read; `session_id` is the session of a transcript.
        """
        self._save(kind, self.name(path), get_file_state(stat), agent_id, offset, (0, _sha256(""), ""), session_id)

    def save_appended(
        self,
        kind: str,
        path: Path,
        stat: os.stat_result,
        *,
        agent_id: str,
        head: bytes,
        tail: Tail,
        session_id: str = "",
    ) -> None:
        """Store that a growing file was read up to the end of `tail`.

        `stat` is its state when it was read; it begins with `head`.
        """
        head = head[: min(HEAD, tail.end)]
        fingerprint = (len(head), hashlib.sha256(head).hexdigest(), hashlib.sha256(tail.data).hexdigest())
        self._save(kind, self.name(path), get_file_state(stat), agent_id, tail.end, fingerprint, session_id)

    def save_read(
        self,
        path: Path,
        stat: os.stat_result,
        how: str,
        *,
        agent_id: str,
        kind: str = CollectorSource.Kind.DATABASE,
    ) -> None:
        """Store that a database, its log or an artifact was read to its end.

        `how` identifies the way in which it was read.
        """
        self._save(kind, self.name(path), get_file_state(stat), agent_id, stat.st_size, (0, _sha256(how), ""))

    def _save(self, kind, name, state, agent_id, offset, fingerprint, session_id=""):
        rows, row_key = self._rows_of(kind), build_row_key(kind, name, agent_id)
        row = rows.get(row_key) or SourceRow(kind, name, agent_id)
        self._forget_session(row)
        row.agent_id, row.byte_offset, row.session_id = agent_id, offset, session_id
        row.inode, row.size_bytes, row.mtime_ns = state
        row.head_bytes, row.head_sha256, row.tail_sha256 = fingerprint
        self._write(row)
        rows[row_key] = row
        self._note_session(row)

    def _write(self, row):
        key = self._compute_key(row)
        if self._unsaved is None:
            self._store({key: row})
        else:
            self._unsaved[key] = row

    def _delete(self, row):
        CollectorSource.objects.filter(source_key=self._compute_key(row)).delete()

    def _store(self, rows):
        beside = {"root": str(self.root), "last_read_at": now_ms()}
        stored = [
            CollectorSource(source_key=key, **beside, **{name: getattr(row, name) for name in COLUMNS})
            for key, row in rows.items()
        ]
        CollectorSource.objects.bulk_create(
            stored, update_conflicts=True, unique_fields=["source_key"], update_fields=SAVED
        )

    def _compute_key(self, row):
        return compute_source_key(self.root, *build_row_key(row.kind, row.path, row.agent_id))

    def _note_session(self, row):
        if session_id := _get_session(row):
            self._by_session[session_id] = (*self._list_others(session_id, row), row)

    def _forget_session(self, row):
        if session_id := _get_session(row):
            self._by_session[session_id] = self._list_others(session_id, row)

    def _list_others(self, session_id, row):
        return tuple(other for other in self._by_session.get(session_id, ()) if other is not row)

    def name(self, path: Path) -> str:
        """Return the file's name in the book: relative to the home, or absolute outside of it."""
        return get_relative_name(self.root, path)


class UnreadBook(SourceBook):
    """The book of a home of which nothing was read yet. It is not stored."""

    def _load(self, **_kinds):
        return {}

    def _write(self, row):
        """Keep the row in memory only."""

    _delete = _write


def build_row_key(kind: str, name: str, agent_id: str) -> tuple[str, ...]:
    """Return the values that identify a row within its home.

    A file that agents may share has a row for each of them.
    """
    return (kind, name, agent_id) if kind in OF_AGENTS else (kind, name)


def _get_session(row):
    """Return the session of a transcript; inside a database, its name says it."""
    if row.kind != TRANSCRIPT:
        return ""
    if row.session_id:
        return row.session_id
    part = PART.fullmatch(row.path)
    return part["live"] or part["archived"] if part else ""


def _read_tail(file, end):
    size = min(TAIL, end)
    return Tail(end, os.pread(file.fileno(), size, end - size))


def get_relative_name(root: Path, path: Path) -> str:
    """Return a path relative to a folder; the whole path when it is elsewhere.

    This is quicker than `relative_to`, and runs for every file of a home.
    """
    return str(path).removeprefix(f"{root}/") if path != root else "."


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def get_file_state(stat: os.stat_result) -> tuple[int, int, int]:
    """Return inode, size and time as a column can hold them.

    Some file systems have values of more than 63 bits.
    """
    return stat.st_ino & MAX_COLUMN, stat.st_size, max(-MAX_COLUMN, min(stat.st_mtime_ns, MAX_COLUMN))


def compute_source_key(root: Path, kind: str, name: str, *agent_id: str) -> str:
    """Return the key of a row of `collector_sources`.

    For a file that agents may share, the key is that of one agent.
    """
    return hashlib.sha256("\0".join([str(root), kind, name, *agent_id]).encode()).hexdigest()
