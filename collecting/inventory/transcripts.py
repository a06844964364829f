"""Which files of an agent are transcripts, whose, and in which state: by index, content and name, in this order."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.homes import NEVER_FOLDERS, NEVER_NAMES, HomeAgent, NotReadable, open_regular
from agents.models import CollectorSource, SkippedSource
from agents.skipped_sources import Kind, Reason, SkippedItem, is_unchanged
from ledger.collectors.session_index import IndexEntry, get_file_name
from ledger.models import Session

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
    """A file that may be a transcript. `session_id` is empty while only its content can tell whose it is."""

    path: Path
    session_id: str
    state: str
    stat: os.stat_result
    hint: NameHint = field(default_factory=lambda: NameHint(Session.State.LIVE))
    is_known: bool = False  # unchanged since it was read
    is_certain: bool = False  # whose it is was seen when it was opened last
    is_named: bool = False  # by an index, as the transcript of its session
    is_packed: bool = field(init=False)  # its lines are compressed

    def __post_init__(self):
        self.is_packed = self.path.suffix == PACKED

    def name_current(self, *, is_named: bool) -> None:
        """Take in whether an index names the file: then it is the one that OpenClaw writes to, whatever its name."""
        self.is_named = is_named and not self.is_imported
        state = Session.State.BACKUP if self.is_imported else self.hint.state
        self.state = Session.State.LIVE if self.is_named else state

    @property
    def is_imported(self) -> bool:
        """Whether OpenClaw moved it away after its database had it."""
        return self.hint.state == file_names.IMPORTED


@dataclass(slots=True)
class Candidates:
    """What was found of an agent: files that may be transcripts, trajectories, and all others with their reasons."""

    listing: FileListing
    transcripts: list[TranscriptFile] = field(default_factory=list)
    trajectories: list[Path] = field(default_factory=list)
    others: list[FoundFile] = field(default_factory=list)  # indexes and databases: read elsewhere
    skipped: list[SkippedItem] = field(default_factory=list)


class Identity:
    """Whose transcript a file is: what an index says, then its header, then its name."""

    def __init__(self, entries: Iterable[IndexEntry], folder: Path | None):
        self.folder = folder
        self._named: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for entry in entries:
            for path in filter(None, entry.files.values()):
                parent = get_file_name(path.rstrip("/\\")[: -len(get_file_name(path)) - 1])
                self._named[get_file_name(path)].append((entry.updated_at or 0, entry.session_id, parent))

    def named(self, path: Path, header_id: str = "") -> str:
        """The session that an index gives the file; of several the one its header names, else the latest."""
        is_beside = path.parent == self.folder
        named = [each for each in self._named.get(path.name, ()) if is_beside or each[2] == path.parent.name]
        if any(session_id == header_id for _, session_id, _ in named):
            return header_id
        return max(named)[1] if named else ""

    def decide(self, file: TranscriptFile, header_id: str, name: str) -> str:
        """The session of a file whose header was looked at; `name` is its name in the book."""
        return self.named(file.path, header_id) or header_id or file.hint.session_id or made_up_id(name)


def identify_transcript(file: TranscriptFile, head: TranscriptHead, identity: Identity, name: str) -> bool:
    """Set the session of a file whose first lines were looked at; False when it is no transcript."""
    if not (head.is_transcript or file.hint.is_given or identity.named(file.path)):
        file.session_id = ""
        return False
    file.session_id = identity.decide(file, head.session_id, name)
    file.name_current(is_named=bool(identity.named(file.path)))
    return True


def find_transcripts(collection: Any, found: HomeAgent, entries: Iterable[IndexEntry]) -> list[TranscriptFile]:
    """The transcripts of an agent in reading order, each opened to see whose it is, whatever was seen before.

    While somebody is opted out, one that the index or an earlier import gives to a session is not opened for that.
    """
    identity, book = Identity(entries, found.sessions), collection.book
    return [
        file
        for file in find_candidates(collection, found, collection.home.notes).transcripts
        if _is_transcript(collection, file, identity, book)
    ]


def find_sources(collection: Any, found: HomeAgent, rows: Iterable[SkippedSource]) -> Iterator[TranscriptFile]:
    """The transcripts of an agent as its next import meets them; only files that are not known are opened.

    `rows` are those of sources that the last import skipped.
    """
    by_name = {row.path: row for row in rows if row.kind == Kind.FILE}
    identity = Identity(read_index(collection, found).entries, found.sessions)
    for file in find_candidates(collection, found, collection.home.notes).transcripts:
        row = restore_file_state(collection, file, by_name)
        if row is not None and row.reason == Reason.NOT_TRANSCRIPT:
            continue
        file.name_current(is_named=bool(identity.named(file.path)) or (file.is_named and found.database is not None))
        if file.is_certain or _is_transcript(collection, file, identity, collection.book):
            yield file


def _is_transcript(collection, file, identity, book):
    if collection.opted_out and (known := identity.named(file.path) or book.session_of(file.path)):
        file.session_id = known
        file.name_current(is_named=bool(identity.named(file.path)))
        return True
    try:
        with open_regular(collection.home.root, file.path) as opened:
            head = read_head(opened, is_packed=file.is_packed)
    except NotReadable:
        return file.hint.is_given  # what is not met in any source stays as it was
    return identify_transcript(file, head, identity, book.name(file.path))


def made_up_id(name: str) -> str:
    """A session id for a transcript that has none anywhere."""
    return f"file-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def find_candidates(collection: Any, found: HomeAgent, notes: list[str]) -> Candidates:
    """Every file of an agent, told apart by place and name; nothing is opened. Transcripts are in reading order."""
    listing = list_own_files(collection, found, notes)
    candidates = Candidates(listing, skipped=list(listing.skipped))
    for file in listing.files:
        _tell_apart(collection, found, file, candidates)
    # Closed ones first, then by time: a session's newest file has the last word.
    candidates.transcripts.sort(
        key=lambda file: (file.state == Session.State.LIVE, file.stat.st_mtime_ns, file.path.name)
    )
    candidates.trajectories.sort()
    return candidates


def restore_file_state(collection: Any, file: TranscriptFile, rows: dict[str, SkippedSource]) -> SkippedSource | None:
    """Bring a file up to what was seen of it when it was opened last; its row among `rows` if it was left then."""
    book = collection.book
    file.is_known = book.is_known(SOURCE.TRANSCRIPT, file.path, file.stat)
    session_id = book.session_of(file.path)
    row = rows.get(book.name(file.path))
    if row is not None and not is_unchanged(row, file.stat):
        row = None
    if row is not None and not session_id:
        session_id = row.session_id
    file.session_id, file.is_certain = session_id or file.session_id, bool(session_id)
    file.name_current(is_named=book.is_named(file.path))
    return row


def _tell_apart(collection, found, file, candidates):
    name, root = file.path.name, collection.home.root
    inside = file.path.relative_to(file.place).parts[:-1]
    is_in_agent_folder = file.place == found.agent_dir or file.place.name == "agent"
    if file.path in (found.index, found.database, *found.more_databases):
        candidates.others.append(file)
        return
    reason = _reason(name, inside, is_in_agent_folder)
    if reason == Reason.DATABASE and file.path in map(log_of, found.databases):
        candidates.others.append(file)
    elif reason == Reason.TRAJECTORY and file_names.TRAJECTORY.fullmatch(name) and not inside:
        candidates.trajectories.append(file.path)
    elif reason == Reason.COLD and collection.book.is_known(SOURCE.TRANSCRIPT, file.path, file.stat):
        candidates.others.append(file)  # the database names it, and it was read from there
    elif reason:
        candidates.skipped.append(SkippedItem(Kind.FILE, get_book_name(root, file.path), reason, stat=file.stat))
    else:
        hint = parse_name(name)
        state = Session.State.BACKUP if hint.state == file_names.IMPORTED else hint.state
        candidates.transcripts.append(TranscriptFile(file.path, hint.session_id, state, file.stat, hint))


def log_of(database: Path) -> Path:
    """The log that SQLite keeps beside a database."""
    return database.with_name(f"{database.name}-wal")


def _reason(name, inside, is_in_agent_folder):
    if SKILLS in inside:
        return Reason.SKILLS_PROMPT
    if TEMPORARY in inside:
        return Reason.TEMPORARY
    if inside[:1] == (COLD,) and name.lower().endswith(PACKED):
        return Reason.COLD  # unless the database names it: then it is read from there
    if name in NEVER_NAMES or NEVER_FOLDERS.intersection(inside):
        return Reason.SECRET
    reason = find_skip_reason(name)
    if not reason and is_in_agent_folder and ".jsonl" not in name.lower():
        return Reason.NOT_LISTED
    return reason
