"""Records of transcripts as documents, read in parts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from django.db.models import Count, Q

from agents.holdings import EMPTY, add_checksums, compute_checksum
from ledger.models import TranscriptEvent
from ledger.outputs.stashed_outputs import count_hidden, read_whole_record
from ledger.transcripts.trimming import parse_stashed, untrim
from openclaw_web.errors import Refused

from .documents import Document, select_record_texts
from .tables import MOST_BYTES

RECORDS = 500  # that are read at once
PART_SIZE = 4_000_000  # characters of records: a part ends after as many
WITHHELD = TranscriptEvent.Kind.WITHHELD
COLUMNS = ("seq", "event_id", "kind", "turn_number", "trim_json", "event_json", "full_zstd")


@dataclass(frozen=True, slots=True)
class Prefix:
    """The scanned records of a session: their number, checksum of ids, and withheld ones.

    As a text it is the fingerprint of a scan, and equals what the session's row says of all of its records.
    """

    count: int = 0
    checksum: str = EMPTY
    withheld: int = 0

    def __str__(self):
        return f"{self.count}:{self.checksum}:{self.withheld}"

    def plus(self, other: "Prefix") -> "Prefix":
        """The records of both; no record may be in both."""
        checksum = add_checksums(self.checksum, other.checksum)
        return Prefix(self.count + other.count, checksum, self.withheld + other.withheld)


@dataclass(slots=True)
class Part:
    """Consecutive records of a session: their documents, and the facts of all of them."""

    documents: list[Document] = field(default_factory=list)
    last_seq: int = -1
    records: Prefix = field(default_factory=Prefix)
    unreadable: int = 0
    size: int = 0  # characters of the records
    is_end: bool = False


def parse_prefix(fingerprint: str) -> Prefix:
    """The prefix whose fingerprint this is; an empty one for any other text."""
    parts = fingerprint.split(":")
    if len(parts) != 3 or not (parts[0].isdigit() and parts[2].isdigit()):
        return Prefix()
    return Prefix(int(parts[0]), parts[1], int(parts[2]))


def read_prefix(db: str, session_id: str, last_seq: int) -> Prefix:
    """Describe the records of a session up to a `seq`, as they are stored now."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__lte=last_seq)
    counts = events.aggregate(n=Count("seq"), withheld=Count("seq", filter=Q(kind=WITHHELD)))
    ids = events.filter(event_id__isnull=False).order_by().values_list("event_id", flat=True).iterator()
    return Prefix(counts["n"], compute_checksum(ids), counts["withheld"])


def read_part(db: str, session_id: str, after: int) -> Part:
    """Read the next records of a session after a `seq`: at most 500, about 4 MB."""
    part, withheld, count, ids = Part(last_seq=after), 0, 0, []
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__gt=after).order_by("seq")
    for row in events.values(*COLUMNS)[:RECORDS].iterator(chunk_size=50):
        part.last_seq = row["seq"]
        count += 1
        ids += [row["event_id"]] if row["event_id"] is not None else []
        withheld += row["kind"] == WITHHELD
        if row["kind"] != WITHHELD:
            _add_document(part, session_id, row)
        if part.size >= PART_SIZE:
            break
    else:
        part.is_end = count < RECORDS
    part.records = Prefix(count, compute_checksum(ids), withheld)
    return part


def read_record(db: str, session_id: str, seq: int) -> Document | None:
    """The document of one record; None when it is not stored, withheld or unreadable."""
    documents = read_records(db, [(session_id, seq)])
    return documents[0] if documents else None


def read_records(db: str, pairs: Collection[tuple[str, int]]) -> list[Document]:
    """The documents of a few records, by pairs of session and seq.

    Those that are not stored, withheld or unreadable are left out.
    """
    chosen = [Q(session_id=session_id, seq=seq) for session_id, seq in pairs]
    part = Part()
    if chosen:
        events = TranscriptEvent.objects.using(db).filter(reduce(or_, chosen)).exclude(kind=WITHHELD)
        for row in events.values("session_id", *COLUMNS):
            _add_document(part, row["session_id"], row)
    return part.documents


def _add_document(part, session_id, row):
    try:
        record = _read_whole(row)
    except (Refused, ValueError):  # the doctor names damaged records
        part.unreadable += 1
        return
    texts, size = select_record_texts(record), len(row["event_json"])
    size += count_hidden(row["trim_json"]) if row["trim_json"] else 0
    part.size += size
    source_id = f"{session_id}/{row['seq']}"
    part.documents.append(Document(source_id, texts, session_id, row["turn_number"], size=size))


def _read_whole(row):
    """The record; long outputs are left as previews, because they are scanned as artifacts."""
    stashed = parse_stashed(row["trim_json"])
    if not stashed or sum(note.bytes for note in stashed) > MOST_BYTES:
        return untrim(row["event_json"], row["full_zstd"])
    record, _problem = read_whole_record(row["event_json"], row["full_zstd"], row["trim_json"])
    return record
