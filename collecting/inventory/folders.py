"""Lists the files of an agent. It opens no file and follows no link."""

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from django.utils.translation import gettext as _

from agents.homes import Home, HomeAgent, describe_gone, is_utf8_name
from agents.layout.places import OddityReason
from agents.skipped_sources import Kind, Reason, SkippedItem
from agents.sources import get_relative_name
from openclaw_web import reasons
from openclaw_web.pages.glyphs import escape_name

from .file_names import find_skip_reason

IMPORT_ARCHIVE = "session-sqlite-import-archive"
MAX_FILES = 100_000  # maximum for one agent, far more than real homes have
MAX_DEPTH = 32
ODD = {OddityReason.LINK: Reason.LINK, OddityReason.NAME: Reason.ODD_NAME, OddityReason.NOT_UTF8: Reason.ODD_NAME}
WANTED = re.compile(r".*(?:\.jsonl.*|sessions\.json|\.sqlite(?:-wal|-shm)?)", re.IGNORECASE | re.DOTALL)


class FileStat(NamedTuple):
    """The part of `os.stat_result` that an import looks at: a third of its memory."""

    st_ino: int
    st_size: int
    st_mtime_ns: int
    st_mode: int
    st_nlink: int


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file below `place`, one of the folders of its agent."""

    path: Path
    stat: FileStat
    place: Path
    name: str  # in the book of sources


@dataclass(slots=True)
class FileListing:
    """The files in the folders of an agent; `skipped` are unusable files, and folders."""

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedItem] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.files) + sum(each.kind == Kind.FILE for each in self.skipped)

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of files is reached."""
        return len(self.files) + len(self.skipped) >= MAX_FILES


def find_places(home_agent: HomeAgent) -> list[Path]:
    """The folders with transcripts, archives and databases of an agent, none inside another."""
    candidates = [home_agent.sessions, home_agent.agent_dir]
    if home_agent.folder:
        candidates += [home_agent.folder / "sessions", home_agent.folder / "agent", home_agent.folder / IMPORT_ARCHIVE]
    candidates = [
        place for place in candidates if place not in home_agent.more_sessions
    ]  # these are parts of their own
    places: list[Path] = []
    for place in filter(None, candidates):
        if not any(place.is_relative_to(other) for other in places):
            places = [other for other in places if not other.is_relative_to(place)] + [place]
    return places


def find_odd_places(home: Home, name: str) -> list[SkippedItem]:
    """The unread places of an agent; `name` is its name in the home."""
    odd = [oddity for oddity in home.oddities if oddity.agent == name and oddity.is_unread]
    return [
        SkippedItem(
            Kind.FOLDER,
            get_book_name(home.root, Path(oddity.path)),
            ODD.get(oddity.why, Reason.UNREADABLE),
            oddity.sentence,
        )
        for oddity in odd
    ]


def list_place(place: Path, root: Path, notes: list[str], apart: Collection[Path]) -> FileListing:
    """List every file below `place`, in no order, without the folders in `apart`.

    Those folders are listed on their own. A file that disappears meanwhile is a sentence in `notes`, as in `homes`.
    Where the folder contains all agents, only transcripts and indexes are files of an agent.
    """
    listing = FileListing()
    if place.is_symlink():
        listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, place), Reason.LINK))
    elif place.is_dir():
        _walk_folder(place, root, notes, listing, apart)
    if (root / "agents").is_relative_to(place):
        listing.files = [file for file in listing.files if WANTED.fullmatch(file.path.name)]
        listing.skipped = []
    return listing


def get_book_name(root: Path, path: Path) -> str:
    """The name of a path in the book of sources, escaped where it is not text."""
    name = get_relative_name(root, path)
    return name if name.isascii() or is_utf8_name(name) else escape_name(name)


def _walk_folder(place, root, notes, listing, apart):
    """List folders iteratively, so that depth needs no stack."""
    waiting = [(place, 0)]
    while waiting:
        folder, depth = waiting.pop()
        if depth > MAX_DEPTH:
            listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, folder), Reason.TOO_MANY))
            continue
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if listing.is_full:
                        listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, folder), Reason.TOO_MANY))
                        return
                    _add_entry(entry, place, root, notes, listing, waiting, depth)
            waiting = [] if (root / "agents").is_relative_to(place) else waiting
            waiting = [(inner, level) for inner, level in waiting if inner not in apart]
        except OSError as exc:
            notes.append(_("%(file)s was not read: %(reason)s.") % {"file": folder, "reason": exc.strerror})
            why = reasons.describe_os_error(exc)
            listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, folder), Reason.UNREADABLE, why))


def _add_entry(entry, place, root, notes, listing, waiting, depth):
    path, name = Path(entry.path), get_book_name(root, Path(entry.path))
    try:
        if entry.is_dir(follow_symlinks=False):
            waiting.append((path, depth + 1))
            return
        status = entry.stat(follow_symlinks=False)
    except OSError:
        if not find_skip_reason(entry.name):
            notes.append(describe_gone(entry.name))
        return
    if stat.S_ISLNK(status.st_mode):
        kind = Kind.FOLDER if path.is_dir() else Kind.FILE
        listing.skipped.append(SkippedItem(kind, name, Reason.LINK, stat=status))
    elif not entry.path.isascii() and not is_utf8_name(entry.path):
        listing.skipped.append(SkippedItem(Kind.FILE, name, Reason.ODD_NAME, stat=status))
    elif not stat.S_ISREG(status.st_mode):
        listing.skipped.append(
            SkippedItem(Kind.FILE, name, Reason.UNREADABLE, _("the path is not a regular file"), stat=status)
        )
    else:
        found_stat = FileStat(*(getattr(status, column) for column in FileStat._fields))
        listing.files.append(FoundFile(path, found_stat, place, name))
