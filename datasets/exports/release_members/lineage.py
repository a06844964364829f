"""`lineage.jsonl` of an export of a release.

It says where each row comes from, back to the records of its turns.
"""

from pathlib import Path
from typing import Any

import orjson

from agents import databases
from ledger.models import ConversationTurn

from ...exporters.files.output_files import FileFacts, RowFile
from ...exporters.samples import ExportSample
from ...models import DatasetMember

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
