"""What became of each file of an agent in one import: files found are files read and files named with a reason."""

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.models import CollectorSource
from agents.skipped_sources import Kind, Reason, SkippedItem

from .folders import FileListing, get_book_name

SOURCE = CollectorSource.Kind
NAMES = 100  # of each reason, in a report; the page lists them all


@dataclass(slots=True)
class FileOutcomes:
    """The files of one agent, each read or skipped; what nobody accounts for by the end counts as failed."""

    root: Path
    _read: set[str] = field(default_factory=set)
    _skipped: dict[str, SkippedItem] = field(default_factory=dict)
    found: int = 0
    entries: dict[str, SkippedItem] = field(default_factory=dict)  # of session indexes, by key
    keys: set[str] = field(default_factory=set)  # all that the indexes name
    is_complete: bool = False  # every index was read in this import

    def note_read(self, path: Path) -> None:
        """Note that a file was read, in this import or before."""
        name = get_book_name(self.root, path)
        self._read.add(name)
        self._skipped.pop(name, None)

    def skip(
        self, path: Path, reason: str, stat: os.stat_result | None, *, detail: str = "", session_id: str = ""
    ) -> None:
        """Note why a file was not read, and whose transcript it is as far as that is known."""
        name = get_book_name(self.root, path)
        self._skipped[name] = SkippedItem(Kind.FILE, name, reason, detail, session_id, stat)

    def add(self, skipped: list[SkippedItem]) -> None:
        """Note files and folders that were told apart when they were listed, each once."""
        for each in skipped:
            self._skipped.setdefault(each.path, each)

    def reasons_by_session(self) -> dict[str, str]:
        """Session -> why a transcript of it was not read."""
        return {each.session_id: each.reason for each in self._skipped.values() if each.session_id}

    def reasons_by_name(self) -> dict[str, str]:
        """Last name of a file -> why it was not read."""
        return {name.rpartition("/")[2]: each.reason for name, each in self._skipped.items()}

    def close(self, listing: FileListing, book: Any) -> None:
        """Account for every listed file."""
        self.found = listing.count
        for file in listing.files:
            if file.name in self._read or file.name in self._skipped:
                continue
            if not any(book.is_known(kind, file.path, file.stat) for kind in (SOURCE.TRANSCRIPT, SOURCE.DATABASE)):
                is_database = ".sqlite" in file.path.name
                self.skip(file.path, Reason.DATABASE if is_database else Reason.FAILED, file.stat)

    def list_skipped(self) -> list[SkippedItem]:
        """All that was not read."""
        return [*self._skipped.values(), *self.entries.values()]

    def merge(self, other: "FileOutcomes") -> None:
        """Take in the files and entries of another part of the same agent."""
        self._read |= other._read
        self._skipped = {
            name: each for name, each in (self._skipped | other._skipped).items() if name not in self._read
        }
        self.found += other.found
        self.entries |= other.entries
        self.keys |= other.keys
        self.is_complete = self.is_complete and other.is_complete

    def as_json(self) -> dict[str, Any]:
        """The three numbers, and by reason how many there are and the names of the first."""
        files = [each for each in self._skipped.values() if each.kind == Kind.FILE]
        folders = [each for each in self._skipped.values() if each.kind == Kind.FOLDER]
        numbers = {"found": self.found, "read": self.found - len(files), "named": len(files)}
        return {
            **numbers,
            "reasons": _by_reason(files),
            "folders": _by_reason(folders),
            "index_entries": _by_reason(self.entries.values()),
        }


def _by_reason(skipped):
    counts = Counter(str(each.reason) for each in skipped)
    names = defaultdict(list)
    for each in sorted(skipped, key=lambda one: one.path):
        if len(names[str(each.reason)]) < NAMES:
            names[str(each.reason)].append(each.path)
    return {reason: {"count": counts[reason], "names": names[reason]} for reason in sorted(counts)}
