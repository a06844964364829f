"""A look inside sources: how many records a collect would bring, and what it would reject where."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from django.db import connections

from agents import reasons
from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from ledger.collectors.database import Damaged
from ledger.envelopes import fingerprint
from ledger.records import facts
from ledger.rows import record_id_of
from operations import collect_archives

from .places import AgentPlaces, Place
from .rejects import Rejected, reject
from .sources import Source

Kind = CollectorSource.Kind
MAX_HEADER = 64 * 1024
ROWS = 500
OnBytes = Callable[[int], None]


def records(looked: AgentPlaces, rejected: Rejected, on_bytes: OnBytes) -> None:
    """Count the records of one agent that a collect would bring, session by session; rejected lines are listed."""
    for session_id, found in looked.by_session.items():
        known: set[str] = set()  # new records that an earlier place of the session brings
        for place in found:
            if place.begin is not None:
                _guarded(_new_of, looked, place, session_id, known, rejected)
                on_bytes(place.bytes)


def _guarded(look, looked, place: Place, session_id, known, rejected):
    try:
        look(looked, place, session_id, known, rejected)
    except NotReadable as exc:
        place.source.problem = str(exc)
    except Damaged as exc:
        place.source.problem = reasons.of_sqlite(str(exc))
        reject(place.source, rejected, 0, "bad_database", place.source.problem)


def _new_of(looked, place, session_id, known, rejected):
    """Records that are neither in the store nor in an earlier place; another one under a known id is rejected."""
    seen: dict[str, int | str] = {}
    waiting: dict[str, str] = {}
    for line in place.lines(place.begin):
        if line.offset < place.begin:  # a packed one is read from its start
            continue
        if line.record is None:
            _reject(place.source, rejected, session_id, line.offset, line.reason, line.detail)
            continue
        name, digest = record_id_of(line), fingerprint(line.raw, line.record)
        if seen.setdefault(name, digest) != digest:
            _reject(place.source, rejected, session_id, line.offset, "duplicate_id", name)
        elif name not in known and name not in waiting:
            waiting[name] = facts(line.record).kind
            if len(waiting) == ROWS:
                _count(looked, place.source, session_id, known, waiting)
    _count(looked, place.source, session_id, known, waiting)


def _count(looked, source, session_id, known, waiting: dict[str, str]):
    held = held_ids(looked.db, session_id, [*waiting]) if looked.db else set()
    new = waiting.keys() - held
    known |= new
    source.kinds.update(waiting[name] for name in new)
    source.new[RECORDS] += len(new)
    waiting.clear()


RECORDS = "transcript_events"


def held_ids(db: str, session_id: str, ids: list[str]) -> set[str]:
    """Those of these records of a session that are in the store. At most a few hundred at once."""
    marks = ", ".join(["%s"] * len(ids))
    sql = f"SELECT event_id FROM transcript_event_identities WHERE session_id = %s AND event_id IN ({marks})"  # noqa: S608
    with connections[db].cursor() as cursor:
        return {name for (name,) in cursor.execute(sql, [session_id, *ids])}


def _reject(source, rejected, session_id, offset, reason, detail):
    is_shared = source.kind == Kind.DATABASE
    reject(source, rejected, offset, reason, f"{session_id} {detail}".strip() if is_shared else detail)


def about(collection: Any, source: Source) -> None:
    """Fill in the version that the header of a transcript names."""
    if source.file.suffix == collect_archives.SUFFIX:
        return
    try:
        with open_regular(collection.home.root, source.file) as file:
            version = orjson.loads(file.readline(MAX_HEADER)).get("version")
    except (NotReadable, orjson.JSONDecodeError, AttributeError):
        return
    source.version = str(version) if isinstance(version, int) else ""


def sha256_of(root: Path, file: Path) -> str:
    """The hash of a source as it is now. Raises NotReadable."""
    digest = hashlib.sha256()
    with open_regular(root, file) as opened:
        while chunk := opened.read(io.DEFAULT_BUFFER_SIZE * 32):
            digest.update(chunk)
    return digest.hexdigest()
