"""Finds the transcripts of an agent, with session and state: by index, content, then name."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.homes import NEVER_FOLDERS, NEVER_NAMES, HomeAgent, NotReadable, open_regular
from agents.models import CollectorSource, SkippedSource
from agents.skipped_sources import Kind, Reason, SkippedItem, is_unchanged
from ledger.collectors.session_index import IndexEntry, get_file_name
from ledger.models import Session
from ledger.transcripts.reported_turns import PREFIX

from . import file_names
from .file_heads import TranscriptHead, read_head
from .file_names import NameHint, find_skip_reason, parse_name
from .folders import FileListing, FoundFile, get_book_name
from .indexes import read_index
from .shared_folders import list_own_files

SOURCE = CollectorSource.Kind
PACKED = ".zst"
SKILLS, COLD, TEMPORARY = "skills-prompts", "cold", "tmp"


@dataclass(slots=True)
class TranscriptFile:
    """A file that may be a transcript. `session_id` is empty until its content is read."""

    path: Path
    session_id: str
    state: str
    stat: os.stat_result
    hint: NameHint = field(default_factory=lambda: NameHint(Session.State.LIVE))
    is_known: bool = False  # unchanged since it was read
    is_certain: bool = False  # its session was found when it was opened last
    is_named: bool = False  # an index names it as the transcript of its session
    is_packed: bool = field(init=False)  # its lines are compressed
    is_imported: bool = field(init=False)  # OpenClaw moved the file away after importing it into its database

    def __post_init__(self):
        self.is_packed = self.path.suffix == PACKED
        self.is_imported = self.hint.state == file_names.IMPORTED

    def name_current(self, *, is_named: bool) -> None:
        """Set whether an index names the file as the one that OpenClaw writes.

        Its state is then live under any name.
        """
        self.is_named = is_named and not self.is_imported
        state = Session.State.BACKUP if self.is_imported else self.hint.state
        self.state = Session.State.LIVE if self.is_named else state


@dataclass(slots=True)
class Candidates:
    """The files of an agent: possible transcripts, trajectories, and others with reasons."""

    listing: FileListing
    transcripts: list[TranscriptFile] = field(default_factory=list)
    trajectories: list[Path] = field(default_factory=list)
    others: list[FoundFile] = field(default_factory=list)  # indexes and databases: read elsewhere
    skipped: list[SkippedItem] = field(default_factory=list)


class Identity:
    """Finds the session of a file: by index, then header, then name."""

    def __init__(self, entries: Iterable[IndexEntry], folder: Path | None):
        self.folder = folder
        self._named: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for entry in entries:
            for path in filter(None, entry.files.values()):
                parent = get_file_name(path.rstrip("/\\")[: -len(get_file_name(path)) - 1])
                self._named[get_file_name(path)].append((entry.updated_at or 0, entry.session_id, parent))

    def named(self, path: Path, header_id: str = "") -> str:
        """The session that an index gives the file; of several, the header's, else the latest."""
        is_beside = path.parent == self.folder
        named = [each for each in self._named.get(path.name, ()) if is_beside or each[2] == path.parent.name]
        if any(session_id == header_id for _, session_id, _ in named):
            return header_id
        return max(named)[1] if named else ""

    def decide(self, file: TranscriptFile, header_id: str, name: str) -> str:
        """The session of a file with a known header; `name` is its name in the book."""
        session_id = self.named(file.path, header_id) or header_id or file.hint.session_id
        return session_id if session_id and not session_id.startswith(PREFIX) else made_up_id(name)


def identify_transcript(file: TranscriptFile, head: TranscriptHead, identity: Identity, name: str) -> bool:
    """Set the session of a file from its first lines; False without a transcript."""
    if not (head.is_transcript or file.hint.is_given or identity.named(file.path)):
        file.session_id = ""
        return False
    file.session_id = identity.decide(file, head.session_id, name)
    file.name_current(is_named=bool(identity.named(file.path)))
    return True


def find_transcripts(collection: Any, home_agent: HomeAgent, entries: Iterable[IndexEntry]) -> list[TranscriptFile]:
    """The transcripts of an agent in reading order; each is opened to find its session.

    While somebody is opted out, a file whose session the index or an earlier import gives is not opened for that.
    """
    identity, book = Identity(entries, home_agent.sessions), collection.book
    return [
        file
        for file in find_candidates(collection, home_agent).transcripts
        if _is_transcript(collection, file, identity, book)
    ]


def find_sources(collection: Any, home_agent: HomeAgent, rows: Iterable[SkippedSource]) -> Iterator[TranscriptFile]:
    """The transcripts of an agent as the next import finds them; opens only unknown files.

    `rows` are those of sources that the last import skipped.
    """
    by_name = {row.path: row for row in rows if row.kind == Kind.FILE}
    identity = Identity(read_index(collection, home_agent).entries, home_agent.sessions)
    files = find_candidates(collection, home_agent).transcripts
    for file, row in zip(files, restore_file_states(collection, files, by_name), strict=True):
        if row is not None and row.reason == Reason.NOT_TRANSCRIPT:
            continue
        file.name_current(
            is_named=bool(identity.named(file.path)) or (file.is_named and home_agent.database is not None)
        )
        if file.is_certain or _is_transcript(collection, file, identity, collection.book):
            yield file


def _is_transcript(collection, file, identity, book):
    if collection.opted_out and (known := identity.named(file.path) or book.find_session(file.path)):
        file.session_id = known
        file.name_current(is_named=bool(identity.named(file.path)))
        return True
    try:
        with open_regular(collection.home.root, file.path) as opened:
            head = read_head(opened, is_packed=file.is_packed)
    except NotReadable:
        return file.hint.is_given  # records without a source stay unchanged
    return identify_transcript(file, head, identity, book.name(file.path))


def made_up_id(name: str) -> str:
    """Build a session id for a transcript without one."""
    return f"file-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def find_candidates(collection: Any, home_agent: HomeAgent, listing: FileListing | None = None) -> Candidates:
    """Classify every file of an agent by place and name, without opening any.

    Transcripts are in reading order.
    """
    listing = listing or list_own_files(collection, home_agent, collection.home.notes)
    candidates = Candidates(listing, skipped=list(listing.skipped))
    for file in listing.files:
        _classify(collection, home_agent, file, candidates)
    # Closed files first, then by time: a session's newest file is read last.
    candidates.transcripts.sort(
        key=lambda file: (file.state == Session.State.LIVE, file.stat.st_mtime_ns, file.path.name)
    )
    candidates.trajectories.sort()
    return candidates


def restore_file_states(
    collection: Any, files: Sequence[TranscriptFile], rows: dict[str, SkippedSource]
) -> list[SkippedSource | None]:
    """Set what is known of files since they were opened last.

    Returns for each its row among `rows` if it was skipped at that time and is unchanged.
    """
    known_rows: list[SkippedSource | None] = []
    for file, known in zip(files, collection.book.find_read(files), strict=True):
        row = rows.get(known.name)
        if row is not None and not is_unchanged(row, file.stat):
            row = None
        session_id = known.session_id or (row.session_id if row is not None else "")
        file.session_id, file.is_certain = session_id or file.session_id, bool(session_id)
        file.is_known = known.is_known
        file.name_current(is_named=known.is_named)
        known_rows.append(row)
    return known_rows


def _classify(collection, home_agent, file, candidates):
    name, root = file.path.name, collection.home.root
    inside = file.path.relative_to(file.place).parts[:-1]
    is_in_agent_folder = file.place == home_agent.agent_dir or file.place.name == "agent"
    if file.path in (home_agent.index, home_agent.database, *home_agent.more_databases):
        candidates.others.append(file)
        return
    reason = _find_reason(name, inside, is_in_agent_folder)
    if reason == Reason.DATABASE and file.path in map(log_of, home_agent.databases):
        candidates.others.append(file)
    elif reason == Reason.TRAJECTORY and file_names.TRAJECTORY.fullmatch(name) and not inside:
        candidates.trajectories.append(file.path)
    elif reason == Reason.COLD and collection.book.is_known(SOURCE.TRANSCRIPT, file.path, file.stat):
        candidates.others.append(file)  # the database names it, and it was read through the database
    elif reason:
        candidates.skipped.append(SkippedItem(Kind.FILE, get_book_name(root, file.path), reason, stat=file.stat))
    else:
        hint = parse_name(name)
        state = Session.State.BACKUP if hint.state == file_names.IMPORTED else hint.state
        candidates.transcripts.append(TranscriptFile(file.path, hint.session_id, state, file.stat, hint))


def log_of(database: Path) -> Path:
    """The write-ahead log of a database."""
    return database.with_name(f"{database.name}-wal")


def _find_reason(name, inside, is_in_agent_folder):
    if SKILLS in inside:
        return Reason.SKILLS_PROMPT
    if TEMPORARY in inside:
        return Reason.TEMPORARY
    if inside[:1] == (COLD,) and name.lower().endswith(PACKED):
        return Reason.COLD  # except when the database names it: it is then read through the database
    if name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside):
        return Reason.SECRET
    reason = find_skip_reason(name)
    if not reason and is_in_agent_folder and ".jsonl" not in name.lower():
        return Reason.NOT_LISTED
    return reason
