"""A preview of an import: how many records sources would add, and rejected lines."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from collecting.inventory.transcripts import PACKED
from ledger.collectors.records import own_id, read_facts
from ledger.models import TranscriptEvent
from ledger.transcripts import unnamed_records
from ledger.transcripts.transcript_store import CHUNK_BYTES, UNFORESEEN

from .home_sources import Source
from .places import AgentPlaces
from .rejects import RejectedLines, reject, report_failures

Kind = CollectorSource.Kind
MAX_HEADER = 64 * 1024
ROWS = 500
OnBytes = Callable[[int], None]


@dataclass(slots=True)
class _EarlierRecords:
    """Records of a session in earlier places: hashes of ids and words, and counts of records without an id."""

    seen_hashes: set[int] = field(default_factory=set)
    nameless: Counter[str] = field(default_factory=Counter)


def count_new_records(agent_places: AgentPlaces, rejected: RejectedLines, on_bytes: OnBytes) -> None:
    """Count the new records of one agent by session, and list rejected lines."""
    for session_id, places in agent_places.by_session.items():
        known = _EarlierRecords()
        for place in places:
            with report_failures(place.source, rejected):
                _count_new(agent_places, place, session_id, known, rejected)
            on_bytes(place.bytes)


def _count_new(agent_places, place, session_id, known, rejected):
    """Count records that are neither stored nor in an earlier place.

    One that says something else under a used id is a new one.
    """
    seen: dict[str, str] = {}
    waiting: list[tuple[str, int, str]] = []
    size = 0
    nameless = _Nameless(agent_places.db, session_id, known, goes_on=place.begin > 0)
    for line in place.lines(place.begin):
        if line.offset < place.begin:  # packed files are read from their start
            continue
        kind = _find_kind(line)
        if kind is None:
            is_shared = place.source.kind == Kind.DATABASE
            detail = f"{session_id} {line.detail}".strip() if is_shared else line.detail
            reject(place.source, rejected, line.offset, line.reason, detail)
            continue
        name = own_id(line.record)
        if name is None:
            place.source.kinds[kind] += nameless.is_new(line, seen)
            continue
        words = hash(unnamed_records.find_words(kind, line.record))
        if (content_hash := hash((name, words))) not in known.seen_hashes:
            known.seen_hashes.add(content_hash)
            waiting.append((name, words, kind))
            size += len(line.raw)
            if len(waiting) == ROWS or size >= CHUNK_BYTES:
                _count_waiting(agent_places, place.source, session_id, waiting)
                size = 0
    _count_waiting(agent_places, place.source, session_id, waiting)
    place.source.new[RECORDS] = place.source.kinds.total()


def _find_kind(line):
    """The kind of a line's record; None, with the reason in the line, without a record."""
    try:
        return read_facts(line.record).kind if line.record is not None else None
    except UNFORESEEN as exc:
        line.reason, line.detail = "unforeseen", type(exc).__name__
        return None


class _Nameless:
    """Decides which records without an id in one place are new.

    `unnamed` knows those that are stored, `known` those of earlier places.
    """

    def __init__(self, db, session_id, known, *, goes_on):
        self._db, self._session_id, self._known, self._goes_on = db, session_id, known, goes_on
        self._earlier = Counter() if goes_on else Counter(known.nameless)
        self._own: Counter[str] = Counter()
        self._stored: set[str] = set()
        self._names: unnamed_records.UnnamedRecords | None = None

    def is_new(self, line, seen) -> bool:
        """Whether an import would store this record."""
        if self._names is None:
            self._stored = all_ids(self._db, self._session_id) if self._db else set()
            self._names = unnamed_records.UnnamedRecords(self._db, self._session_id, {}, goes_on=self._goes_on)
        name = self._names.find_name(line, self._stored, seen, is_withheld=False)
        if name in self._stored:
            return False
        seen[name] = name
        key = unnamed_records.compute_key(line.record)
        self._own[key] += 1
        self._known.nameless |= self._own
        return self._own[key] > self._earlier[key]


def all_ids(db: str, session_id: str) -> set[str]:
    """The ids of all stored records of a session."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id).order_by()
    return set(rows.values_list("event_id", flat=True))


def _count_waiting(agent_places, source, session_id, waiting):
    names = [name for name, _words, _kind in waiting]
    held = read_held(agent_places.db, session_id, names) if agent_places.db and names else {}
    source.kinds.update(kind for name, words, kind in waiting if not _is_held(agent_places.db, held, name, words))
    waiting.clear()


def _is_held(db, held, record_id, words):
    """Whether a stored record with this id says the same; one whose words are not known may be any."""
    for name in unnamed_records.list_own_names(record_id):
        if name not in held:
            return False
        stored, _line = unnamed_records.read_words(db, held[name].session_id, name, held[name])
        if stored is None or hash(stored) == words:
            return True
    return False


RECORDS = "transcript_events"


def read_held(db: str, session_id: str, ids: list[str]) -> dict[str, TranscriptEvent]:
    """Those of some records of a session that are stored, and others of the same ids. At most a few hundred ids."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id)
    held: dict[str, TranscriptEvent] = {}
    names, number = ids, 1
    while names:
        held |= {row.event_id: row for row in rows.filter(event_id__in=names)}
        ids, number = [record_id for record_id, name in zip(ids, names, strict=True) if name in held], number + 1
        names = [f"{record_id}~{number}" for record_id in ids]
    return held


def fill_version(collection: Any, source: Source) -> None:
    """Set the version that the header of a transcript names."""
    if source.file.suffix == PACKED:
        return
    try:
        with open_regular(collection.home.root, source.file) as file:
            version = orjson.loads(file.readline(MAX_HEADER)).get("version")
    except (NotReadable, orjson.JSONDecodeError, AttributeError):
        return
    source.version = str(version) if isinstance(version, int) else ""


def hash_source(root: Path, file: Path) -> str:
    """The current hash of a source. Raises NotReadable."""
    with open_regular(root, file) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
