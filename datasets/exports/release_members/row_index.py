"""The rows of an export by their samples.

An index outside of its files, with 8 bytes a row.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from ..builder.splits import SIDES

FOLDER = "export-rows"  # in the home; what is missing there is known to nobody, and an export again brings it
SUFFIX = ".idx"
SIDE_BITS, ROW_BITS = 2, 24
MOST_ROWS = 1 << ROW_BITS
SHIFT = SIDE_BITS + ROW_BITS
PARTS = 16  # sorted one after the other: sorting all at once would take five times the memory


class RowIndex:
    """Collects the samples of each row while an export is written."""

    def __init__(self) -> None:
        self.entries = array("Q")
        self.is_complete = True

    def add(self, side: str, row: int, sample_ids: Iterable[str]) -> None:
        """Add the samples that a row teaches.

        `row`: its number in the file of its side, from 1.
        """
        if row >= MOST_ROWS:
            self.is_complete = False
            return
        place = row << SIDE_BITS | SIDES.index(side)
        self.entries.extend(_hash_id(sample_id) << SHIFT | place for sample_id in sample_ids)

    def write(self, export_id: str) -> None:
        """Write the index of an export; none when it has too many rows."""
        if not self.is_complete:
            return
        path = find_index(export_id)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with path.open("wb") as file:
            for part in range(PARTS):
                array("Q", sorted(entry for entry in self.entries if entry >> 60 == part)).tofile(file)


def find_index(export_id: str) -> Path:
    """The path of the index of an export, which may not exist."""
    return Path(settings.HOME_DIR) / FOLDER / f"{export_id}{SUFFIX}"


def remove_index(export_id: str) -> None:
    """Remove the index of an export that has no files, if there is one."""
    with suppress(OSError):  # what cannot be removed now is tried again when the server starts
        find_index(export_id).unlink(missing_ok=True)


def list_indexes() -> Iterator[str]:
    """The ids of the exports that have an index."""
    with suppress(FileNotFoundError):
        for path in (Path(settings.HOME_DIR) / FOLDER).iterdir():
            if path.suffix == SUFFIX:
                yield path.stem


def read_rows_of(export_id: str, sample_id: str) -> list[tuple[str, int]] | None:
    """The rows of an export that teach a sample, each as side and number from 1.

    None when the export has no index.
    """
    try:
        with find_index(export_id).open("rb") as file:
            return list(_search(_EntryFile(file), _hash_id(sample_id)))
    except OSError:
        return None


class _EntryFile:
    """The entries of an index, read one by one."""

    def __init__(self, file):
        self.file = file
        self.count = file.seek(0, 2) // 8

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        self.file.seek(8 * place)
        return int.from_bytes(self.file.read(8), "little")


def _search(entries, hashed) -> Iterator[tuple[str, int]]:
    place = bisect_left(entries, hashed << SHIFT)
    while place < len(entries) and (entry := entries[place]) >> SHIFT == hashed:
        yield SIDES[entry & ((1 << SIDE_BITS) - 1)], (entry >> SIDE_BITS) & (MOST_ROWS - 1)
        place += 1


def _hash_id(sample_id):
    """The first 38 bits of the hash of an id."""
    digest = hashlib.blake2b(sample_id.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> SHIFT
