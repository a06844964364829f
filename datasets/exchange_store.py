"""Stores the records of a turn beside its sample.

The exchange outlives the transcript: once a session is removed, exports read the calls and results of its turns here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from agents import databases
from ledger.models import TranscriptEvent
from ledger.outputs import stashed_outputs
from ledger.transcripts.trimming import parse_stashed
from openclaw_web.batches import in_batches
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue

from .models import DatasetSample, SampleExchange

RULE = 1
KINDS = ("user", "assistant", "tool_result")
COLUMNS = ("seq", "kind", "event_json", "full_zstd", "trim_json", "created_at")
LARGEST = 8_000_000  # bytes of a turn's records; a larger turn has no exchange
MOST_RECORDS = 2_000  # of one turn
BATCH = 20  # samples whose records are in memory
Row = tuple[Any, ...]


class StoredRecord(NamedTuple):
    """One whole record of an exchange with its place.

    `secrets`: kinds of secrets in outputs that were artifacts. `problem`: why an output could not be read, or empty.
    """

    seq: int
    kind: str
    created_at: int
    record: dict[str, Any]
    secrets: list[str]
    problem: str


def store_exchanges(samples: Iterable[DatasetSample]) -> int:
    """Store the exchanges of samples of turns, and return how many were stored.

    A sample whose turn is not on the active branch, or is too large, gets an empty exchange, so that no later run tries
    again.
    """
    groups: dict[str, list[DatasetSample]] = defaultdict(list)
    for sample in samples:
        if sample.turn_number is not None:
            groups[sample.agent_id].append(sample)
    count = 0
    for agent_id, group in groups.items():
        if db := databases.find_alias(agent_id):
            for batch in in_batches(group, BATCH):
                count += _store_batch(db, batch)
    return count


def read_records(exchange: SampleExchange) -> list[StoredRecord]:
    """The records of an exchange in their order. Raises Refused when it is damaged."""
    return [StoredRecord(*values) for values in orjson.loads(packing.unpack(bytes(exchange.records)))]


def read_session_exchanges(agent_id: str, session_id: str) -> Iterator[tuple[int, list[StoredRecord]]]:
    """The turns of a session that samples have kept: number and records of each.

    For a session whose transcript is gone. A damaged exchange is left out.
    """
    exchanges = SampleExchange.objects.filter(
        sample__agent_id=agent_id, sample__session_id=session_id, rule=RULE, record_count__gt=0
    ).order_by("sample__turn_number", "sample_id")
    last = None
    for exchange in exchanges.select_related("sample").iterator(chunk_size=BATCH):
        number = exchange.sample.turn_number
        if number is None or number == last:
            continue
        try:
            records = read_records(exchange)
        except Refused:
            continue
        last = number
        yield number, records


def _store_batch(db, samples):
    rows = _read_turns(db, samples)
    exchanges = [_build_exchange(sample, rows[sample.session_id, sample.turn_number]) for sample in samples]
    if exchanges:
        with write_queue.global_transaction():
            stored = set(
                DatasetSample.objects.filter(id__in=[exchange.sample_id for exchange in exchanges]).values_list(
                    "id", flat=True
                )
            )
            SampleExchange.objects.bulk_create(
                [exchange for exchange in exchanges if exchange.sample_id in stored],
                update_conflicts=True,
                unique_fields=["sample"],
                update_fields=["record_count", "records", "rule", "clean_rules"],
            )
    return len(exchanges)


def _build_exchange(sample, rows):
    is_kept = len(rows) <= MOST_RECORDS and sum(map(_measure_row, rows)) <= LARGEST
    data = orjson.dumps([_build_record(row) for row in rows]) if is_kept else b"[]"
    if len(data) > LARGEST:
        rows, data = [], b"[]"
    return SampleExchange(
        sample_id=sample.id,
        record_count=len(rows) if is_kept else 0,
        records=packing.pack(data),
        rule=RULE,
    )


def _build_record(row):
    seq, kind, event_json, full_zstd, trim_json, created_at = row
    record, problem = stashed_outputs.read_whole_record(event_json, full_zstd, trim_json)
    secrets = sorted({kind for note in parse_stashed(trim_json) for kind in note.secrets})
    return [seq, kind, created_at, record, secrets, problem]


def _measure_row(row):
    return len(row[2] or "") + len(row[3] or b"") + len(row[4] or "")


def _read_turns(db, samples):
    """The rows of the records of these samples' turns on the active branch, by session and turn number."""
    rows: dict[tuple[str, int], list[Row]] = {(sample.session_id, sample.turn_number): [] for sample in samples}
    events = TranscriptEvent.objects.using(db).filter(
        session_id__in={session_id for session_id, _number in rows},
        turn_number__in={number for _session_id, number in rows},
        is_active=True,
        kind__in=KINDS,
    )
    columns = ("session_id", "turn_number", *COLUMNS)
    for session_id, number, *row in events.order_by("session_id", "seq").values_list(*columns).iterator(chunk_size=200):
        turn_rows = rows.get((session_id, number))
        if turn_rows is not None and len(turn_rows) <= MOST_RECORDS:
            turn_rows.append(tuple(row))
    return rows
