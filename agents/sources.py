"""What was read from where, and how far: so that a second look reads only what is new."""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from openclaw_web.clock import now_ms
from openclaw_web.disk import packing

from .models import CollectorSource, ReaderState

HEAD = TAIL = 4096
MAX_COLUMN = 2**63 - 1
# Agents may share a workspace or a folder of sessions: of such files each has to read its own part, or its own copy.
OF_AGENTS = frozenset({CollectorSource.Kind.WORKSPACE_FILE, CollectorSource.Kind.SESSION_INDEX})
TRANSCRIPT = CollectorSource.Kind.TRANSCRIPT
SAVED = [field.name for field in CollectorSource._meta.concrete_fields if not field.primary_key]
# A transcript inside a database by its name in the book.
PART = re.compile(r".+\.sqlite(?:#(?P<live>.+)|!(?P<archived>.+)/[^/]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """From which byte a file is to be read, and why."""

    offset: int
    why: str  # new, appended, truncated, replaced
    tail: "Tail"  # what was read last before `offset`

    @property
    def goes_on(self) -> bool:
        """Whether it is read from where the last reading stopped, and not from its start."""
        return self.offset > 0


@dataclass(slots=True)
class Tail:
    """The last bytes before `end` of a file, as they were read: `take` what is read next.

    Asking the file again later would be too late: it may have been cut and have grown meanwhile.
    """

    end: int = 0
    data: bytes = b""

    def take(self, raw: bytes) -> None:
        """What was read from `end` on."""
        self.end += len(raw)
        self.data = raw[-TAIL:] if len(raw) >= TAIL else (self.data + raw)[-TAIL:]


@dataclass(frozen=True, slots=True)
class DatabasePart:
    """A transcript inside a database: everything before `end` was read, `count` records; `mark` tells rewrites."""

    end: int
    count: int
    mark: str


class SourceBook:
    """The rows of `collector_sources` of one home, read once."""

    def __init__(self, root: Path):
        self.root = root
        self._rows = {
            _place(row.kind, row.path, row.agent_id): row
            for row in CollectorSource.objects.filter(root=str(root)).exclude(kind=CollectorSource.Kind.AGENT)
        }
        self._unsaved: dict[str, CollectorSource] | None = None  # by key, in a block of `saving_together`
        self._by_session: dict[tuple[str, str], set[str]] = defaultdict(set)
        for row in self._rows.values():
            self._note_session(row)

    @contextmanager
    def save_together(self) -> Iterator[None]:
        """Write what is saved in the block in one statement at its end."""
        self._unsaved = {}
        try:
            yield
            rows = self._unsaved.values()
            CollectorSource.objects.bulk_create(
                rows, update_conflicts=True, unique_fields=["source_key"], update_fields=SAVED
            )
        finally:
            self._unsaved = None

    def find_session(self, path: Path) -> str:
        """The session that a transcript file was stored as; empty for one that was never read."""
        row = self._rows.get((TRANSCRIPT, self.name(path)))
        return _session_of(row) if row else ""

    def is_named(self, path: Path) -> bool:
        """Whether an index named the file as the transcript of its session when it was read."""
        row = self._rows.get((TRANSCRIPT, self.name(path)))
        return row is not None and row.is_named

    def name_current(self, path: Path, *, is_named: bool) -> None:
        """Note whether an index names a file that was read as the transcript of its session."""
        row = self._rows.get((TRANSCRIPT, self.name(path)))
        if row is not None and row.is_named != is_named:
            row.is_named = is_named
            self._write(row)

    def find_agent(self, path: Path) -> str:
        """The agent that a transcript file was read for; empty for one that was never read."""
        row = self._rows.get((TRANSCRIPT, self.name(path)))
        return row.agent_id if row else ""

    def find_session_agent(self, session_id: str) -> str:
        """The agent of whose session transcripts were read; empty for none."""
        return next((agent for (agent, one), names in self._by_session.items() if one == session_id and names), "")

    def has_others(self, agent_id: str, session_id: str, name: str) -> bool:
        """Whether a session was read from other sources than the one of this name as well."""
        return bool(self._by_session.get((agent_id, session_id), set()) - {name})

    def move(self, path: Path, session_id: str) -> None:
        """Note that a file which was read is the transcript of this session, whatever was thought before."""
        row = self._rows.get((TRANSCRIPT, self.name(path)))
        if row is not None and row.session_id != session_id:
            self._forget_session(row)
            row.session_id = session_id
            row.save(update_fields=["session_id"])
            self._note_session(row)

    def is_known(self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str = "") -> bool:
        """Whether the file is as it was when it was read last: nobody needs to open it.

        `agent_id` matters for files that agents may share: each of them reads them.
        """
        row = self._rows.get(_place(kind, self.name(path), agent_id))
        return row is not None and (row.inode, row.size_bytes, row.mtime_ns) == get_file_state(stat)

    def offset(self, kind: str, path: Path, *, agent_id: str = "") -> int:
        """How far the file has been read; 0 for one that is new. `agent_id` as in `is_known`."""
        row = self._rows.get(_place(kind, self.name(path), agent_id))
        return row.byte_offset if row else 0

    def has_other_files(self, workspace: Path, agent_id: str) -> bool:
        """Whether files of an agent were read that are not in this workspace: it had another one."""
        kind, folder = CollectorSource.Kind.WORKSPACE_FILE, f"{self.name(workspace)}/"
        own = (place[1] for place in self._rows if place[0] == kind and place[2] == agent_id)
        inside = (name.removeprefix(folder) if name.startswith(folder) else "/" for name in own)
        return any("/" in name and not name.startswith("memory/") for name in inside)

    def find_position(self, kind: str, path: Path, file: BinaryIO) -> ReadPosition:
        """Where to go on in an opened file that has changed."""
        row = self._rows.get((kind, self.name(path)))
        if row is None:
            return ReadPosition(0, "new", Tail())
        stat = os.fstat(file.fileno())
        if stat.st_size < row.byte_offset:
            return ReadPosition(0, "truncated", Tail())
        same_head = hashlib.sha256(file.read(row.head_bytes)).hexdigest() == row.head_sha256
        tail = _tail_at(file, row.byte_offset)
        # A file that was cut in place and has grown past its old size begins as before and ends otherwise.
        same_tail = row.byte_offset == 0 or hashlib.sha256(tail.data).hexdigest() == row.tail_sha256
        # Of equal length but touched, or another file under the name: only reading it all can tell what changed.
        is_other = get_file_state(stat)[0] != row.inode or stat.st_size == row.size_bytes
        if not (same_head and same_tail) or is_other:
            return ReadPosition(0, "replaced", Tail())
        return ReadPosition(row.byte_offset, "appended", tail)

    def find_resume_position(self, kind: str, path: Path, file: BinaryIO) -> ReadPosition | None:
        """Where to go on in an opened file, also one in which nothing is new; None when it is to be read again."""
        row = self._rows.get((kind, self.name(path)))
        if row and self.is_known(kind, path, os.fstat(file.fileno())):
            return ReadPosition(row.byte_offset, "appended", _tail_at(file, row.byte_offset))
        reading = self.find_position(kind, path, file)
        return reading if reading.goes_on else None

    def load_reader_state(self, kind: str, path: Path, how: str) -> bytes | None:
        """What a reader that reads in this way had in memory when it stopped; None when that is not known."""
        row = ReaderState.objects.filter(
            source_key=compute_source_key(self.root, kind, self.name(path)), how=how
        ).first()
        return packing.unpack(bytes(row.state_zstd)) if row else None

    def save_reader_state(self, kind: str, path: Path, how: str, state: bytes | None) -> None:
        """Remember what a reader has in memory; None: forget it."""
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
        """Whether a database, its log, an index or an artifact is as it was when it was read last, in this way.

        `agent_id` as in `is_known`.
        """
        row = self._rows.get(_place(kind, self.name(path), agent_id))
        is_same = row is not None and (row.inode, row.size_bytes, row.mtime_ns) == get_file_state(stat)
        return is_same and row.head_sha256 == _sha256(how)

    def part(self, name: str) -> "DatabasePart | None":
        """How far a transcript inside a database was read."""
        row = self._rows.get((CollectorSource.Kind.TRANSCRIPT, name))
        return DatabasePart(row.byte_offset, row.size_bytes, row.head_sha256) if row else None

    def parts(self, prefix: str) -> list[str]:
        """The names of the transcripts of one database."""
        kind = CollectorSource.Kind.TRANSCRIPT
        return [name for found, name, *_agent in self._rows if found == kind and name.startswith(prefix)]

    def save_part(self, name: str, part: "DatabasePart", *, agent_id: str) -> None:
        """Remember how far a transcript inside a database was read."""
        self._save(CollectorSource.Kind.TRANSCRIPT, name, (0, part.count, 0), agent_id, part.end, (0, part.mark, ""))

    def forget_part(self, name: str) -> None:
        """A transcript, in a database or a file of its own, is there no more, or is to be read from its start."""
        row = self._rows.pop((TRANSCRIPT, name), None)
        if row is not None:
            self._forget_session(row)
            row.delete()

    def save(
        self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str, offset: int, session_id: str = ""
    ) -> None:
        """Remember that a file that nobody appends to was, as `stat` found it, read whole; of a transcript, whose."""
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
        """Remember that a growing file, as `stat` found it, was read up to the end of `tail`; it begins with `head`."""
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
        """Remember that a database, its log or an artifact was read to its end in this way."""
        self._save(kind, self.name(path), get_file_state(stat), agent_id, stat.st_size, (0, _sha256(how), ""))

    def _save(self, kind, name, state, agent_id, offset, fingerprint, session_id=""):
        place = _place(kind, name, agent_id)
        row = self._rows.get(place) or CollectorSource(
            source_key=compute_source_key(self.root, *place), kind=kind, root=str(self.root), path=name
        )
        self._forget_session(row)
        row.agent_id, row.byte_offset, row.last_read_at = agent_id, offset, now_ms()
        row.session_id = session_id
        row.inode, row.size_bytes, row.mtime_ns = state
        row.head_bytes, row.head_sha256, row.tail_sha256 = fingerprint
        self._write(row)
        self._rows[place] = row
        self._note_session(row)

    def _write(self, row):
        if self._unsaved is None:
            row.save(force_insert=row._state.adding)
        else:
            self._unsaved[row.source_key] = row

    def _note_session(self, row):
        if session_id := _session_of(row):
            self._by_session[row.agent_id, session_id].add(row.path)

    def _forget_session(self, row):
        self._by_session.get((row.agent_id, _session_of(row)), set()).discard(row.path)

    def name(self, path: Path) -> str:
        """The file's name in the book: relative to the home, or absolute for a workspace elsewhere."""
        return get_relative_name(self.root, path)


def _place(kind, name, agent_id):
    return (kind, name, agent_id) if kind in OF_AGENTS else (kind, name)


def _session_of(row):
    """The session of a transcript; the name of one inside a database says it."""
    if row.kind != TRANSCRIPT:
        return ""
    if row.session_id:
        return row.session_id
    part = PART.fullmatch(row.path)
    return part["live"] or part["archived"] if part else ""


def _tail_at(file, end):
    size = min(TAIL, end)
    return Tail(end, os.pread(file.fileno(), size, end - size))


def get_relative_name(root: Path, path: Path) -> str:
    """A path relative to a folder, whole when it is elsewhere; quicker than `relative_to`, for every file of a home."""
    return str(path).removeprefix(f"{root}/") if path != root else "."


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def get_file_state(stat: os.stat_result) -> tuple[int, int, int]:
    """Inode, size and time as a column can hold them: some file systems count past 63 bits."""
    return stat.st_ino & MAX_COLUMN, stat.st_size, max(-MAX_COLUMN, min(stat.st_mtime_ns, MAX_COLUMN))


def compute_source_key(root: Path, kind: str, name: str, *agent_id: str) -> str:
    """The key of a row of `collector_sources`; of a file that agents may share, for one of them."""
    return hashlib.sha256("\0".join([str(root), kind, name, *agent_id]).encode()).hexdigest()
