"""What was read from where, and how far: so that a second look reads only what is new."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused

from . import databases, services
from .homes import Home, normalise_or_empty
from .models import Agent, CollectorSource

HEAD = TAIL = 4096
MAX_COLUMN = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Reading:
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
class Part:
    """A transcript inside a database: everything before `end` was read, `count` records; `mark` tells rewrites."""

    end: int
    count: int
    mark: str


class SourceBook:
    """The rows of `collector_sources` of one home, read once."""

    def __init__(self, root: Path):
        self.root = root
        self._rows = {
            (row.kind, row.path): row
            for row in CollectorSource.objects.filter(root=str(root)).exclude(kind=CollectorSource.Kind.AGENT)
        }

    def is_known(self, kind: str, path: Path, stat: os.stat_result) -> bool:
        """Whether the file is as it was when it was read last: nobody needs to open it."""
        row = self._rows.get((kind, self.name(path)))
        return row is not None and (row.inode, row.size_bytes, row.mtime_ns) == state_of(stat)

    def offset(self, kind: str, path: Path) -> int:
        """How far the file has been read; 0 for one that is new."""
        row = self._rows.get((kind, self.name(path)))
        return row.byte_offset if row else 0

    def reading(self, kind: str, path: Path, file: BinaryIO) -> Reading:
        """Where to go on in an opened file that has changed."""
        row = self._rows.get((kind, self.name(path)))
        if row is None:
            return Reading(0, "new", Tail())
        stat = os.fstat(file.fileno())
        if stat.st_size < row.byte_offset:
            return Reading(0, "truncated", Tail())
        same_head = hashlib.sha256(file.read(row.head_bytes)).hexdigest() == row.head_sha256
        tail = _tail_at(file, row.byte_offset)
        # A file that was cut in place and has grown past its old size begins as before and ends otherwise. Rows of an
        # older version know no end: their files are read once more.
        same_tail = row.byte_offset == 0 or hashlib.sha256(tail.data).hexdigest() == row.tail_sha256
        # Of equal length but touched, or another file under the name: only reading it all can tell what changed.
        is_other = state_of(stat)[0] != row.inode or stat.st_size == row.size_bytes
        if not (same_head and same_tail) or is_other:
            return Reading(0, "replaced", Tail())
        return Reading(row.byte_offset, "appended", tail)

    def was_read(
        self, path: Path, stat: os.stat_result, how: str, *, kind: str = CollectorSource.Kind.DATABASE
    ) -> bool:
        """Whether a database, its log or an artifact is as it was when it was read last, and was read in this way."""
        row = self._rows.get((kind, self.name(path)))
        is_same = row is not None and (row.inode, row.size_bytes, row.mtime_ns) == state_of(stat)
        return is_same and row.head_sha256 == _sha256(how)

    def part(self, name: str) -> "Part | None":
        """How far a transcript inside a database was read."""
        row = self._rows.get((CollectorSource.Kind.TRANSCRIPT, name))
        return Part(row.byte_offset, row.size_bytes, row.head_sha256) if row else None

    def parts(self, prefix: str) -> list[str]:
        """The names of the transcripts of one database."""
        kind = CollectorSource.Kind.TRANSCRIPT
        return [name for found, name in self._rows if found == kind and name.startswith(prefix)]

    def save_part(self, name: str, part: "Part", *, agent_id: str) -> None:
        """Remember how far a transcript inside a database was read."""
        self._save(CollectorSource.Kind.TRANSCRIPT, name, (0, part.count, 0), agent_id, part.end, (0, part.mark, ""))

    def forget_part(self, name: str) -> None:
        """A transcript, in a database or a file of its own, is there no more, or is to be read from its start."""
        row = self._rows.pop((CollectorSource.Kind.TRANSCRIPT, name), None)
        if row is not None:
            row.delete()

    def save(self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str, offset: int) -> None:
        """Remember that a file that nobody appends to was, as `stat` found it, read whole."""
        self._save(kind, self.name(path), state_of(stat), agent_id, offset, (0, _sha256(""), ""))

    def save_appended(
        self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str, head: bytes, tail: Tail
    ) -> None:
        """Remember that a growing file, as `stat` found it, was read up to the end of `tail`; it begins with `head`."""
        head = head[: min(HEAD, tail.end)]
        fingerprint = (len(head), hashlib.sha256(head).hexdigest(), hashlib.sha256(tail.data).hexdigest())
        self._save(kind, self.name(path), state_of(stat), agent_id, tail.end, fingerprint)

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
        self._save(kind, self.name(path), state_of(stat), agent_id, stat.st_size, (0, _sha256(how), ""))

    def _save(self, kind, name, state, agent_id, offset, fingerprint):
        row = self._rows.get((kind, name)) or CollectorSource(
            source_key=source_key(self.root, kind, name), kind=kind, root=str(self.root), path=name
        )
        row.agent_id, row.byte_offset, row.last_read_at = agent_id, offset, now_ms()
        row.inode, row.size_bytes, row.mtime_ns = state
        row.head_bytes, row.head_sha256, row.tail_sha256 = fingerprint
        row.save(force_insert=row._state.adding)
        self._rows[(kind, name)] = row

    def name(self, path: Path) -> str:
        """The file's name in the book: relative to the home, or absolute for a workspace elsewhere."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def _tail_at(file, end):
    size = min(TAIL, end)
    return Tail(end, os.pread(file.fileno(), size, end - size))


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def state_of(stat: os.stat_result) -> tuple[int, int, int]:
    """Inode, size and time as a column can hold them: some file systems count past 63 bits."""
    return stat.st_ino & MAX_COLUMN, stat.st_size, max(-MAX_COLUMN, min(stat.st_mtime_ns, MAX_COLUMN))


def source_key(root: Path, kind: str, name: str) -> str:
    """The key of a row of `collector_sources`."""
    return hashlib.sha256(f"{root}\0{kind}\0{name}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Claimed:
    """The agents of a home by their own names, and what is said of those whose file is gone, by their names here."""

    agents: dict[str, Agent]
    lost: dict[str, str]


def claim(home: Home, *, as_name: str | None = None, anew: frozenset[str] = frozenset()) -> Claimed:
    """The agents of a home; new ones are registered. Raises Refused for a name that is taken, or when all are lost.

    `as_name` renames: `main`, or the only agent, becomes NAME, and every other one NAME-<its own name>. Those in
    `anew` get a new file when theirs is gone.
    """
    agents, lost = {}, {}
    for name, agent_id in names_here(home, as_name=as_name).items():
        try:
            agents[name] = _register(home.root, name, agent_id, anew=agent_id in anew)
        except databases.LostAgentFile as exc:
            lost[agent_id] = str(exc)
    if lost and not agents:
        raise Refused(" ".join(lost.values()))
    return Claimed(agents, lost)


def names_here(home: Home, *, as_name: str | None = None) -> dict[str, str]:
    """What `claim` would call the agents of a home; nothing is written. Raises Refused for a name that is taken."""
    names = [agent.home_name for agent in home.agents]
    wanted = {name: _wanted(name, names, as_name) for name in names}
    claims = {row.agent_id: row for row in CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)}
    mine = {row.path: row.agent_id for row in claims.values() if row.root == str(home.root)}
    for name in names:
        if as_name is not None and mine.get(name, wanted[name]) != wanted[name]:
            raise Refused(
                _(
                    "This OpenClaw folder is already imported; its agent “%(name)s” is called “%(agent)s”. Import "
                    "the folder without another name."
                )
                % {"name": name, "agent": mine[name]}
            )
        agent_id = wanted[name] = mine.get(name, wanted[name])
        holder = claims.get(agent_id)
        if holder and (holder.root, holder.path) != (str(home.root), name):
            raise Refused(
                _("The agent “%(agent)s” was imported from %(root)s. Import these agents under another name.")
                % {"agent": agent_id, "root": holder.root}
            )
    return wanted


def _wanted(name, names, as_name):
    if as_name is None:
        return normalise_or_empty(name)
    base = services.normalise_agent_id(as_name)
    first = "main" if "main" in names else names[0]
    return base if name == first else services.normalise_agent_id(f"{base}-{name}")


def _register(root, name, agent_id, *, anew):
    agent = services.register(agent_id, home_name=name, anew=anew)
    with transaction.atomic():
        CollectorSource.objects.get_or_create(
            source_key=source_key(root, CollectorSource.Kind.AGENT, name),
            defaults={"kind": CollectorSource.Kind.AGENT, "root": str(root), "path": name, "agent_id": agent_id},
        )
    return agent
