"""A look inside sources: how many records a collect would bring, and what it would reject where."""

import hashlib
import io
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from collecting.inventory.transcripts import PACKED
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.envelopes import fingerprint
from ledger.collectors.records import own_id, read_facts
from ledger.models import TranscriptEvent, TranscriptEventIdentity
from ledger.transcripts import unnamed_records
from ledger.transcripts.transcript_store import UNFORESEEN
from openclaw_web.sqlite import failures

from ..store.losses import IDS, Loss
from .home_sources import Source
from .places import AgentPlaces, Place
from .rejects import RejectedLines, reject

Kind = CollectorSource.Kind
MAX_HEADER = 64 * 1024
ROWS = 500
WITHHELD = "withheld"  # the kind of records that are kept without their words
OnBytes = Callable[[int], None]


@dataclass(slots=True)
class _Known:
    """New records of a session that earlier places bring: by id, and how many of those without one say the same."""

    ids: set[str] = field(default_factory=set)
    nameless: Counter[str] = field(default_factory=Counter)


def count_new_records(looked: AgentPlaces, rejected: RejectedLines, on_bytes: OnBytes) -> None:
    """Count the records of one agent that a collect would bring, session by session; rejected lines are listed."""
    for session_id, found in looked.by_session.items():
        known = _Known()
        for place in found:
            if place.begin is not None:
                _guarded(_new_of, looked, place, session_id, known, rejected)
                on_bytes(place.bytes)


def _guarded(look, looked, place: Place, session_id, known, rejected):
    try:
        look(looked, place, session_id, known, rejected)
    except NotReadable as exc:
        place.source.problem = str(exc)
    except DamagedDatabase as exc:
        place.source.problem = failures.translate_message(str(exc))
        reject(place.source, rejected, 0, "bad_database", place.source.problem)


def _new_of(looked, place, session_id, known, rejected):
    """Records that are neither in the store nor in an earlier place; another one under a known id is rejected."""
    seen: dict[str, int | str] = {}
    waiting: dict[str, str] = {}
    nameless = _Nameless(looked.db, session_id, known, goes_on=place.begin > 0)
    for line in place.lines(place.begin):
        if line.offset < place.begin:  # a packed one is read from its start
            continue
        kind = _kind(line)
        if kind is None:
            _reject(place.source, rejected, session_id, line.offset, line.reason, line.detail)
            continue
        name = own_id(line.record)
        if name is None:
            place.source.kinds[kind] += nameless.is_new(line, seen)
            continue
        digest = fingerprint(line.raw, line.record)
        if seen.setdefault(name, digest) != digest:
            _reject(place.source, rejected, session_id, line.offset, "duplicate_id", name)
        elif name not in known.ids and name not in waiting:
            waiting[name] = kind
            if len(waiting) == ROWS:
                _count(looked, place.source, session_id, known, waiting)
    _count(looked, place.source, session_id, known, waiting)
    place.source.new[RECORDS] = place.source.kinds.total()


def _kind(line):
    """The kind of a line's record; None, with the reason in the line, when it holds none."""
    try:
        return read_facts(line.record).kind if line.record is not None else None
    except UNFORESEEN as exc:
        line.reason, line.detail = "unforeseen", type(exc).__name__
        return None


class _Nameless:
    """Records without an id in one place: `unnamed` tells those that the store has, `known` those before it."""

    def __init__(self, db, session_id, known, *, goes_on):
        self._db, self._session_id, self._known, self._goes_on = db, session_id, known, goes_on
        self._earlier = Counter() if goes_on else Counter(known.nameless)
        self._own: Counter[str] = Counter()
        self._stored: set[str] = set()
        self._names: unnamed_records.UnnamedRecords | None = None

    def is_new(self, line, seen) -> bool:
        """Whether a collect would store this record."""
        if self._names is None:
            self._stored = all_ids(self._db, self._session_id) if self._db else set()
            self._names = unnamed_records.UnnamedRecords(self._db, self._session_id, {}, goes_on=self._goes_on)
        name = self._names.find_name(line, self._stored, seen, is_withheld=False)
        if name in self._stored:
            return False
        seen[name] = name
        what = unnamed_records.compute_key(line.record)
        self._own[what] += 1
        self._known.nameless |= self._own
        return self._own[what] > self._earlier[what]


def count_restorable(looked: AgentPlaces, losses: list[Loss]) -> None:
    """Note how many of the missing records of an agent are in its sources: `in_sources` of each loss."""
    by_session: dict[str, list[Loss]] = {}
    for loss in losses:
        by_session.setdefault(loss.session_id, []).append(loss)
    for session_id, lost in by_session.items():
        found = _missing_kinds(looked, session_id)
        for loss in lost:
            loss.in_sources = min(loss.missing, found.total() if loss.kind == IDS else found[loss.kind])


def _missing_kinds(looked, session_id) -> Counter[str]:
    """Records in the sources of a session that the store does not have, or has as another kind, by kind."""
    held = _kinds_by_id(looked.db, session_id) if looked.db else {}
    kinds: dict[str, str] = {}
    for place in looked.by_session.get(session_id, ()):
        with suppress(NotReadable, DamagedDatabase):
            for line in place.lines(0):
                if (kind := _kind(line)) is not None:
                    kinds[own_id(line.record) or f"@{place.source.name} {line.offset}"] = kind
    return Counter(kind for record_id, kind in kinds.items() if held.get(record_id) not in (kind, WITHHELD))


def _kinds_by_id(db, session_id) -> dict[str, str]:
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id).order_by()
    kinds = dict(rows.values_list("seq", "kind"))
    ids = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id).order_by()
    return {record_id: kinds[seq] for record_id, seq in ids.values_list("event_id", "seq") if seq in kinds}


def all_ids(db: str, session_id: str) -> set[str]:
    """Every record of a session that is in the store."""
    rows = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id).order_by()
    return set(rows.values_list("event_id", flat=True))


def _count(looked, source, session_id, known, waiting: dict[str, str]):
    held = held_ids(looked.db, session_id, [*waiting]) if looked.db and waiting else set()
    new = waiting.keys() - held
    known.ids |= new
    source.kinds.update(waiting[name] for name in new)
    waiting.clear()


RECORDS = "transcript_events"


def held_ids(db: str, session_id: str, ids: list[str]) -> set[str]:
    """Those of these records of a session that are in the store. At most a few hundred at once."""
    rows = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id, event_id__in=ids)
    return set(rows.order_by().values_list("event_id", flat=True))


def _reject(source, rejected, session_id, offset, reason, detail):
    is_shared = source.kind == Kind.DATABASE
    reject(source, rejected, offset, reason, f"{session_id} {detail}".strip() if is_shared else detail)


def fill_version(collection: Any, source: Source) -> None:
    """Fill in the version that the header of a transcript names."""
    if source.file.suffix == PACKED:
        return
    try:
        with open_regular(collection.home.root, source.file) as file:
            version = orjson.loads(file.readline(MAX_HEADER)).get("version")
    except (NotReadable, orjson.JSONDecodeError, AttributeError):
        return
    source.version = str(version) if isinstance(version, int) else ""


def hash_source(root: Path, file: Path) -> str:
    """The hash of a source as it is now. Raises NotReadable."""
    digest = hashlib.sha256()
    with open_regular(root, file) as opened:
        while chunk := opened.read(io.DEFAULT_BUFFER_SIZE * 32):
            digest.update(chunk)
    return digest.hexdigest()
