"""Which sample each row is about: `lineage.jsonl` of an export, and the index of its rows.

It says where each row comes from, back to the records of its turns.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from agents import databases
from ledger.models import ConversationTurn

from ..models import DatasetMember
from ..sample_texts import ExportSample
from .files import FileFacts, RowFile
from .plan import SIDES

LINEAGE_FILE = "lineage.jsonl"
BATCH = 200  # rows


class Lineage:
    """Writes a line for each row.

    It has the file and number of the row, and of each sample the verdict, the turn and the records.
    """

    def __init__(self, folder: Path, version_id: str):
        self.version_id = version_id
        self.file = RowFile(folder / LINEAGE_FILE)
        self.waiting: list[tuple[str, int, list[ExportSample]]] = []

    def add(self, file_name: str, row: int, samples: list[ExportSample]) -> None:
        """Add the samples that a row teaches. `row`: its number in its file, from 1."""
        self.waiting.append((file_name, row, samples))
        if len(self.waiting) >= BATCH:
            self._write_waiting()

    def finish(self) -> FileFacts:
        """Complete the file."""
        self._write_waiting()
        return self.file.finish()

    def close(self) -> None:
        """Stop writing, complete or not."""
        self.file.close()

    def _write_waiting(self):
        samples = [sample for _file, _row, row_samples in self.waiting for sample in row_samples]
        members = DatasetMember.objects.filter(
            version_id=self.version_id, sample_id__in=[sample.sample_id for sample in samples]
        )
        labels = {member.sample_id: member for member in members}
        records = _read_records(samples)
        for name, number, row_samples in self.waiting:
            entry = {
                "file": name,
                "row": number,
                "samples": [_describe(sample, labels.get(sample.sample_id), records) for sample in row_samples],
            }
            self.file.add(orjson.dumps(entry) + b"\n", entry)
        self.waiting = []


def _describe(sample, member, records) -> dict[str, Any]:
    place = (sample.agent_id, sample.session_id, sample.turn_number)
    return {
        "sample_id": sample.sample_id,
        "agent_id": sample.agent_id,
        "session_id": sample.session_id,
        "turn_number": sample.turn_number,
        "status": member.status if member else None,
        "label_id": member.label_id if member else None,
        "content_hash": member.content_hash if member else None,
        **records.get(place, {"turn_id": None, "records": []}),
    }


def _read_records(samples) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The turn and the records of each place: agent, session, turn number."""
    sessions: dict[str, set[str]] = {}
    numbers = {sample.turn_number for sample in samples if sample.turn_number is not None}
    for sample in samples:
        sessions.setdefault(sample.agent_id, set()).add(sample.session_id)
    records = {}
    for agent_id, session_ids in sessions.items():
        try:
            db = databases.get_alias(agent_id)
        except databases.UnknownAgent:
            continue
        turns = ConversationTurn.objects.using(db).filter(session_id__in=session_ids, turn_number__in=numbers)
        columns = ("id", "session_id", "turn_number", "user_message_id", "agent_message_id")
        for turn_id, session_id, number, *message_ids in turns.values_list(*columns):
            ids = [message_id for message_id in message_ids if message_id]
            records[agent_id, session_id, number] = {"turn_id": turn_id, "records": ids}
    return records


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


def read_samples_of(export_id: str, side: str, row: int, sample_ids: Iterable[str]) -> list[str]:
    """Those of some samples that a row of an export teaches; none when the export has no index."""
    entries = array("Q")
    with suppress(OSError):
        entries.frombytes(find_index(export_id).read_bytes())
    place = row << SIDE_BITS | SIDES.index(side)
    hashes = {entry >> SHIFT for entry in entries if entry & ((1 << SHIFT) - 1) == place}
    return [sample_id for sample_id in sample_ids if _hash_id(sample_id) in hashes] if hashes else []


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
