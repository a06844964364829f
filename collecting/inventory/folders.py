"""Every file below the places of an agent, found by listing folders: no file is opened, no link is followed."""

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation import gettext as _

from agents.homes import Home, HomeAgent, describe_gone, is_utf8_name
from agents.layout.places import OddityReason
from agents.skipped_sources import Kind, Reason, SkippedItem
from agents.sources import get_relative_name
from openclaw_web import reasons
from openclaw_web.pages.glyphs import escape_name

from .file_names import find_skip_reason

IMPORT_ARCHIVE = "session-sqlite-import-archive"
MAX_FILES = 100_000  # of an agent; more than that no home of a person has
MAX_DEPTH = 32
ODD = {OddityReason.LINK: Reason.LINK, OddityReason.NAME: Reason.ODD_NAME, OddityReason.NOT_UTF8: Reason.ODD_NAME}
WANTED = re.compile(r".*(?:\.jsonl.*|sessions\.json|\.sqlite(?:-wal|-shm)?)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular file below `place`, which is one of the places of its agent."""

    path: Path
    stat: os.stat_result
    place: Path
    name: str  # in the book of sources


@dataclass(slots=True)
class FileListing:
    """The files below the places of an agent; `skipped` are those that cannot be files of ours, and folders."""

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedItem] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.files) + sum(each.kind == Kind.FILE for each in self.skipped)

    @property
    def is_full(self) -> bool:
        """Whether no more is listed."""
        return len(self.files) + len(self.skipped) >= MAX_FILES


def find_places(found: HomeAgent) -> list[Path]:
    """The folders that hold the transcripts, archives and databases of an agent, none within another."""
    candidates = [found.sessions, found.agent_dir]
    if found.folder:
        candidates += [found.folder / "sessions", found.folder / "agent", found.folder / IMPORT_ARCHIVE]
    candidates = [place for place in candidates if place not in found.more_sessions]  # they are parts of their own
    places: list[Path] = []
    for place in filter(None, candidates):
        if not any(place.is_relative_to(other) for other in places):
            places = [other for other in places if not other.is_relative_to(place)] + [place]
    return places


def find_odd_places(home: Home, name: str) -> list[SkippedItem]:
    """The places of an agent that are not read; `name` is its name in the home."""
    odd = [one for one in home.oddities if one.agent == name and one.is_unread]
    return [
        SkippedItem(
            Kind.FOLDER, get_book_name(home.root, Path(one.path)), ODD.get(one.why, Reason.UNREADABLE), one.sentence
        )
        for one in odd
    ]


def list_place(place: Path, root: Path, notes: list[str], apart: Collection[Path]) -> FileListing:
    """Every file below `place`, in no order, without folders in `apart`: they are listed for themselves.

    A file that goes meanwhile is a sentence in `notes`, as in `homes`. Where all agents lie below the place, only
    transcripts and indexes in it are files of an agent.
    """
    listing = FileListing()
    if place.is_symlink():
        listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, place), Reason.LINK))
    elif place.is_dir():
        _list(place, root, notes, listing, apart)
    if (root / "agents").is_relative_to(place):
        listing.files = [file for file in listing.files if WANTED.fullmatch(file.path.name)]
        listing.skipped = []
    return listing


def get_book_name(root: Path, path: Path) -> str:
    """The name of a path in the book of sources; what is no text in it is escaped."""
    name = get_relative_name(root, path)
    return name if is_utf8_name(name) else escape_name(name)


def _list(place, root, notes, listing, apart):
    """Folders are listed one after the other, so that depth costs no stack."""
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
                    _sort(entry, place, root, notes, listing, waiting, depth)
            waiting = [] if (root / "agents").is_relative_to(place) else waiting
            waiting = [(inner, level) for inner, level in waiting if inner not in apart]
        except OSError as exc:
            notes.append(_("%(file)s was not read: %(reason)s.") % {"file": folder, "reason": exc.strerror})
            why = reasons.describe_os_error(exc)
            listing.skipped.append(SkippedItem(Kind.FOLDER, get_book_name(root, folder), Reason.UNREADABLE, why))


def _sort(entry, place, root, notes, listing, waiting, depth):
    path, name = Path(entry.path), get_book_name(root, Path(entry.path))
    try:
        if entry.is_dir(follow_symlinks=False):
            waiting.append((path, depth + 1))
            return
        found = entry.stat(follow_symlinks=False)
    except OSError:
        if not find_skip_reason(entry.name):
            notes.append(describe_gone(entry.name))
        return
    if stat.S_ISLNK(found.st_mode):
        kind = Kind.FOLDER if path.is_dir() else Kind.FILE
        listing.skipped.append(SkippedItem(kind, name, Reason.LINK, stat=found))
    elif not is_utf8_name(entry.name) or not is_utf8_name(str(path.parent)):
        listing.skipped.append(SkippedItem(Kind.FILE, name, Reason.ODD_NAME, stat=found))
    elif not stat.S_ISREG(found.st_mode):
        listing.skipped.append(
            SkippedItem(Kind.FILE, name, Reason.UNREADABLE, _("the path is not a regular file"), stat=found)
        )
    else:
        listing.files.append(FoundFile(path, found, place, name))
