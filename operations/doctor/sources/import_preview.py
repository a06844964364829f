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
from ledger.collectors.envelopes import fingerprint
from ledger.collectors.records import own_id, read_facts
from ledger.models import TranscriptEvent
from ledger.transcripts import unnamed_records
from ledger.transcripts.transcript_store import UNFORESEEN

from .home_sources import Source
from .places import AgentPlaces
from .rejects import RejectedLines, reject, report_failures

Kind = CollectorSource.Kind
MAX_HEADER = 64 * 1024
ROWS = 500
OnBytes = Callable[[int], None]


@dataclass(slots=True)
class _EarlierRecords:
    """New records of a session in earlier places: ids, and counts of records without an id."""

    ids: set[str] = field(default_factory=set)
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

    A different record under the id of an earlier one of this place is a new one.
    """
    seen: dict[str, int | str] = {}
    waiting: dict[str, str] = {}
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
        digest = fingerprint(line.raw, line.record)
        if seen.setdefault(name, digest) != digest:  # it gets a name of its own
            name = f"{name}~2"
        if name not in known.ids and name not in waiting:
            waiting[name] = kind
            if len(waiting) == ROWS:
                _count_waiting(agent_places, place.source, session_id, known, waiting)
    _count_waiting(agent_places, place.source, session_id, known, waiting)
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


def _count_waiting(agent_places, source, session_id, known, waiting: dict[str, str]):
    held = held_ids(agent_places.db, session_id, [*waiting]) if agent_places.db and waiting else set()
    new = waiting.keys() - held
    known.ids |= new
    source.kinds.update(waiting[name] for name in new)
    waiting.clear()


RECORDS = "transcript_events"


def held_ids(db: str, session_id: str, ids: list[str]) -> set[str]:
    """Those of some records of a session that are stored. At most a few hundred ids."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_id__in=ids)
    return set(rows.order_by().values_list("event_id", flat=True))


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
