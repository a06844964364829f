"""Outcomes of an agent's files in one import: read, or skipped with a reason."""

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.models import CollectorSource
from agents.skipped_sources import Kind, Reason, SkippedItem

from .folders import FileListing, get_book_name

SOURCE = CollectorSource.Kind
NAMES = 100  # maximum of names for each reason in a report; the page lists all


@dataclass(slots=True)
class FileOutcomes:
    """The files of one agent, each read or skipped; the others count as failed."""

    root: Path
    _read: set[str] = field(default_factory=set)
    _skipped: dict[str, SkippedItem] = field(default_factory=dict)
    file_count: int = 0
    entries: dict[str, SkippedItem] = field(default_factory=dict)  # of session indexes, by key
    keys: set[str] = field(default_factory=set)  # all keys of the indexes
    is_complete: bool = False  # every index was read in this import

    def note_read(self, path: Path) -> None:
        """Note that a file was read, in this import or before."""
        name = get_book_name(self.root, path)
        self._read.add(name)
        self._skipped.pop(name, None)

    def skip(
        self, path: Path, reason: str, stat: os.stat_result | None, *, detail: str = "", session_id: str = ""
    ) -> None:
        """Note why a file was not read, and its session if that is known."""
        name = get_book_name(self.root, path)
        self._skipped[name] = SkippedItem(Kind.FILE, name, reason, detail, session_id, stat)

    def add(self, skipped: list[SkippedItem]) -> None:
        """Note files and folders that the listing skipped, each once."""
        for each in skipped:
            self._skipped.setdefault(each.path, each)

    def reasons_by_session(self) -> dict[str, str]:
        """The reasons of skipped transcripts by session."""
        return {each.session_id: each.reason for each in self._skipped.values() if each.session_id}

    def reasons_by_name(self) -> dict[str, str]:
        """The reasons of skipped files by last name."""
        return {name.rpartition("/")[2]: each.reason for name, each in self._skipped.items()}

    def close(self, listing: FileListing, book: Any) -> None:
        """Set an outcome for every listed file."""
        self.file_count = listing.count
        files = [file for file in listing.files if file.name not in self._read and file.name not in self._skipped]
        as_transcripts, as_databases = (book.find_read(files, kind) for kind in (SOURCE.TRANSCRIPT, SOURCE.DATABASE))
        for file, transcript, database in zip(files, as_transcripts, as_databases, strict=True):
            if not transcript.is_known and not database.is_known:
                is_database = ".sqlite" in file.path.name
                self.skip(file.path, Reason.DATABASE if is_database else Reason.FAILED, file.stat)

    def list_skipped(self) -> list[SkippedItem]:
        """All files and entries that were not read."""
        return [*self._skipped.values(), *self.entries.values()]

    def merge(self, other: "FileOutcomes") -> None:
        """Add the files and entries of another part of the same agent."""
        self._read |= other._read
        self._skipped = {
            name: each for name, each in (self._skipped | other._skipped).items() if name not in self._read
        }
        self.file_count += other.file_count
        self.entries |= other.entries
        self.keys |= other.keys
        self.is_complete = self.is_complete and other.is_complete

    def as_json(self) -> dict[str, Any]:
        """The three numbers, and counts with the first names by reason."""
        files = [each for each in self._skipped.values() if each.kind == Kind.FILE]
        folders = [each for each in self._skipped.values() if each.kind == Kind.FOLDER]
        numbers = {"found": self.file_count, "read": self.file_count - len(files), "named": len(files)}
        return {
            **numbers,
            "reasons": _group_by_reason(files),
            "folders": _group_by_reason(folders),
            "index_entries": _group_by_reason(self.entries.values()),
        }


def _group_by_reason(skipped):
    counts = Counter(str(each.reason) for each in skipped)
    names = defaultdict(list)
    for each in sorted(skipped, key=lambda item: item.path):
        if len(names[str(each.reason)]) < NAMES:
            names[str(each.reason)].append(each.path)
    return {reason: {"count": counts[reason], "names": names[reason]} for reason in sorted(counts)}
