"""What was read from where, and how far: so that a second look reads only what is new."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.pages.glyphs import escaped

from . import databases, presence, services
from .homes import Home, normalise_or_empty
from .layout import home_agents
from .layout.places import Oddity, Why
from .models import Agent, CollectorSource, ReaderState

HEAD = TAIL = 4096
MAX_COLUMN = 2**63 - 1
# Agents may share a workspace or a folder of sessions: of such files each has to read its own part, or its own copy.
OF_AGENTS = frozenset({CollectorSource.Kind.WORKSPACE_FILE, CollectorSource.Kind.SESSION_INDEX})


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
            _place(row.kind, row.path, row.agent_id): row
            for row in CollectorSource.objects.filter(root=str(root)).exclude(kind=CollectorSource.Kind.AGENT)
        }

    def is_known(self, kind: str, path: Path, stat: os.stat_result, *, agent_id: str = "") -> bool:
        """Whether the file is as it was when it was read last: nobody needs to open it.

        `agent_id` matters for files that agents may share: each of them reads them.
        """
        row = self._rows.get(_place(kind, self.name(path), agent_id))
        return row is not None and (row.inode, row.size_bytes, row.mtime_ns) == state_of(stat)

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

    def continued(self, kind: str, path: Path, file: BinaryIO) -> Reading | None:
        """Where to go on in an opened file, also one in which nothing is new; None when it is to be read again."""
        row = self._rows.get((kind, self.name(path)))
        if row and self.is_known(kind, path, os.fstat(file.fileno())):
            return Reading(row.byte_offset, "appended", _tail_at(file, row.byte_offset))
        reading = self.reading(kind, path, file)
        return reading if reading.goes_on else None

    def reader_state(self, kind: str, path: Path, how: str) -> bytes | None:
        """What a reader that reads in this way had in memory when it stopped; None when that is not known."""
        row = ReaderState.objects.filter(source_key=source_key(self.root, kind, self.name(path)), how=how).first()
        return packing.unpack(bytes(row.state_zstd)) if row else None

    def save_reader_state(self, kind: str, path: Path, how: str, state: bytes | None) -> None:
        """Remember what a reader has in memory; None: forget it."""
        key = source_key(self.root, kind, self.name(path))
        if state is None:
            ReaderState.objects.filter(source_key=key).delete()
        else:
            columns = {"how": how, "state_zstd": packing.pack(state)}
            ReaderState.objects.update_or_create(source_key=key, defaults=columns)

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
        return [name for found, name, *_agent in self._rows if found == kind and name.startswith(prefix)]

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
        place = _place(kind, name, agent_id)
        row = self._rows.get(place) or CollectorSource(
            source_key=source_key(self.root, *place), kind=kind, root=str(self.root), path=name
        )
        row.agent_id, row.byte_offset, row.last_read_at = agent_id, offset, now_ms()
        row.inode, row.size_bytes, row.mtime_ns = state
        row.head_bytes, row.head_sha256, row.tail_sha256 = fingerprint
        row.save(force_insert=row._state.adding)
        self._rows[place] = row

    def name(self, path: Path) -> str:
        """The file's name in the book: relative to the home, or absolute for a workspace elsewhere."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def _place(kind, name, agent_id):
    return (kind, name, agent_id) if kind in OF_AGENTS else (kind, name)


def _tail_at(file, end):
    size = min(TAIL, end)
    return Tail(end, os.pread(file.fileno(), size, end - size))


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def state_of(stat: os.stat_result) -> tuple[int, int, int]:
    """Inode, size and time as a column can hold them: some file systems count past 63 bits."""
    return stat.st_ino & MAX_COLUMN, stat.st_size, max(-MAX_COLUMN, min(stat.st_mtime_ns, MAX_COLUMN))


def source_key(root: Path, kind: str, name: str, *agent_id: str) -> str:
    """The key of a row of `collector_sources`; of a file that agents may share, for one of them."""
    return hashlib.sha256("\0".join([str(root), kind, name, *agent_id]).encode()).hexdigest()


def root_of(source: str | Path) -> Path:
    """The path of a home that its rows have: how it was spelled when it was imported first, else its real path."""
    path = Path(source).expanduser().absolute()
    real = path.resolve()
    try:
        rows = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT).order_by()
        known = sorted(rows.values_list("root", flat=True).distinct())
    except DatabaseError:  # a damaged store cannot tell: whoever reads it next says so
        return real
    same = [root for root in known if Path(root).resolve() == real]
    return Path(next((root for root in (str(path), str(real)) if root in same), next(iter(same), str(real))))


@dataclass(frozen=True, slots=True)
class Claimed:
    """The agents of a home by their own names, and what is said of those whose file is gone, by their names here."""

    agents: dict[str, Agent]
    lost: dict[str, str]


def claim(
    home: Home, *, as_name: str | None = None, folder: str | None = None, anew: frozenset[str] = frozenset()
) -> Claimed:
    """The agents of a home; new ones are registered. Raises Refused for a name that is taken, or when all are lost.

    `as_name` and `folder` as for `names_here`. Those in `anew` get a new file when theirs is gone.
    """
    agents, lost = {}, {}
    for name, agent_id in names_here(home, as_name=as_name, folder=folder).items():
        try:
            agents[name] = _register(home.root, name, agent_id, anew=agent_id in anew)
        except databases.LostAgentFile as exc:
            lost[agent_id] = str(exc)
        except databases.OldAgentFile as exc:
            lost[agent_id] = f"{exc} {presence.ways_out(agent_id)}"
    if lost and not agents:
        raise Refused(" ".join(lost.values()))
    return Claimed(agents, lost)


def names_here(home: Home, *, as_name: str | None = None, folder: str | None = None) -> dict[str, str]:
    """What `claim` would call the agents of a home; nothing is written. Raises Refused for a name that is taken.

    `as_name` renames: `main`, or the only agent, becomes NAME, and every other one NAME-<its own name>; with `folder`
    it renames the agent of this folder alone. An agent that cannot have an id, or whose id is another one's, is taken
    out of the home and said to be odd.
    """
    names = [agent.home_name for agent in home.agents]
    claims = {row.agent_id: row for row in CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)}
    mine = {row.path: row.agent_id for row in claims.values() if row.root == str(home.root)}
    wanted = {name: _wanted(name, names, as_name, folder) for name in names}
    for name in names:
        if wanted[name] not in ("", mine.get(name, wanted[name])) and (as_name if folder is None else name == folder):
            raise Refused(
                _(
                    "This OpenClaw folder is already imported; its agent “%(name)s” is called “%(agent)s”. Import "
                    "the folder without another name."
                )
                % {"name": name, "agent": mine[name]}
            )
        wanted[name] = mine.get(name, wanted[name])
    wanted = _without_odd(home, wanted, mine)
    for name, agent_id in wanted.items():
        holder = claims.get(agent_id)
        is_ours = holder and holder.root == str(home.root) and normalise_or_empty(holder.path) == agent_id
        if holder and not is_ours and (holder.root, holder.path) != (str(home.root), name):
            raise Refused(
                _("The agent “%(agent)s” was imported from %(root)s. Import these agents under another name.")
                % {"agent": agent_id, "root": holder.root}
            )
    return wanted


def _wanted(name, names, as_name, folder):
    if as_name is None or folder not in (None, name):
        return normalise_or_empty(name)
    base = services.normalise_agent_id(as_name)
    first = folder or ("main" if "main" in names else names[0])
    return base if name == first else normalise_or_empty(f"{base}-{name}")


def _without_odd(home, wanted, mine):
    """The names of the agents that can be told apart: of several with one id its own name wins, else the older one.

    An agent that was imported under another name keeps it.
    """

    def rank(name):
        is_renamed = name in mine and mine[name] != normalise_or_empty(name)
        return not is_renamed, name != wanted[name], name not in mine, name

    kept = {}
    for name in sorted(wanted, key=rank):
        other = next((one for one, agent_id in kept.items() if agent_id == wanted[name]), None)
        if wanted[name] and other is None:
            kept[name] = wanted[name]
        else:
            home.add(_odd_name(name, wanted[name], other))
    home.agents = [agent for agent in home.agents if agent.home_name in kept]
    return {name: kept[name] for name in wanted if name in kept}


def follow_reports(home: Home, names: dict[str, str]) -> None:
    """Have the workspace of each agent follow its newest report; `names` are those here by those of the home."""
    rows = Agent.objects.filter(agent_id__in=names.values()).values_list("agent_id", "reported_workspace")
    reported = dict(rows)
    home.agents = [
        home_agents.follow_report(home, agent, reported.get(names.get(agent.home_name), "")) for agent in home.agents
    ]


def _odd_name(name, agent_id, other):
    words = {"name": escaped(name), "agent": agent_id, "other": escaped(other or "")}
    if other is None:
        sentence = _("agents/%(name)s was not imported: its name is not a valid agent name.")
    else:
        sentence = _("agents/%(name)s was not imported: the agent %(agent)s is imported from agents/%(other)s.")
    way = _("Rename the folder, or import it under another name: “openclaw-web collect --agent %(name)s --as NAME”.")
    return Oddity(Why.NAME, f"agents/{name}", f"{sentence % words} {way % words}", name)


def _register(root, name, agent_id, *, anew):
    agent = services.register(agent_id, home_name=name, anew=anew)
    databases.alias(agent_id)  # whether its file can be used
    key = source_key(root, CollectorSource.Kind.AGENT, name)
    with transaction.atomic():
        earlier = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=str(root), agent_id=agent_id)
        if earlier.exclude(source_key=key).delete()[0]:  # its folder has another name now, or another one goes first
            Agent.objects.filter(agent_id=agent_id).update(home_name=name)
            agent.home_name = name
        CollectorSource.objects.get_or_create(
            source_key=key,
            defaults={
                "kind": CollectorSource.Kind.AGENT,
                "root": str(root),
                "path": name,
                "agent_id": agent_id,
            },
        )
    return agent
