"""Runs `doctor --deep`: compares every record of every readable source with the stored record."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.homes import NotReadable
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.envelopes import content_digest
from ledger.collectors.jsonl import Line
from ledger.transcripts import unnamed_records
from ledger.transcripts.rows import EVENT_COLUMNS, IDENTITY_COLUMNS, Row, build_row
from ledger.transcripts.transcript_store import UNFORESEEN
from ledger.transcripts.trimming import untrim
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements

from ..store.losses import IDS, Counts, Loss
from .places import AgentPlaces, Place

LINES, BYTES = 400, 8 * 1024 * 1024  # maximum of a source that is in memory at once
WITHHELD = "withheld"
# Columns that only the store knows: the place of a record, and how far its source was read.
TEXTS = {"trim_json", "event_json", "full_zstd"}
OWN = {"session_id", "seq", "event_id", "turn_number", "is_active", "created_at"} | TEXTS
COMPARED = [name for name in EVENT_COLUMNS if name not in OWN]
LINKS = [name for name in IDENTITY_COLUMNS if name not in OWN]
COLUMNS = ("event_id", "event_json", "trim_json", "full_zstd", "created_at", *COMPARED, *LINKS)
STORED = (
    "SELECT i.event_id, e.event_json, e.trim_json, e.full_zstd, e.created_at, "  # noqa: S608 - names are constants
    + ", ".join([*(f"e.{name}" for name in COMPARED), *(f"i.{name}" for name in LINKS)])
    + " FROM transcript_event_identities i JOIN transcript_events e ON e.session_id = i.session_id AND e.seq = i.seq"
    " WHERE i.session_id = %s AND i.event_id IN ("
)
PARENT = {"has_parent", "parent_id"}


@dataclass(slots=True)
class Comparison:
    """The extent of a comparison: sources, records, and records that no source contains any more."""

    sources: set[str] = field(default_factory=set)
    records: int = 0
    only_stored: int = 0
    sessions: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)  # source -> why


@dataclass(slots=True)
class _Session:
    """One session under comparison, by record id."""

    record_ids: set[str] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    place_counts: Counter[str] = field(
        default_factory=Counter
    )  # records without an id in the current place, by content
    nameless_counts: Counter[str] = field(
        default_factory=Counter
    )  # the largest number of each in one place, by content
    nameless: dict[str, str] = field(default_factory=dict)  # their kinds
    missing: dict[str, str] = field(default_factory=dict)  # id -> kind
    different: dict[str, str] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)  # records that have to be stored
    renamed: Counter[str] = field(default_factory=Counter)  # different records that are stored as another kind


def compare_agent(agent_places: AgentPlaces, counts: Counts, compared: Comparison) -> None:
    """Compare every record of an agent; adds missing and different records to `counts.losses`."""
    held = counts.held.get(agent_places.agent_id, {})
    for session_id, places in agent_places.by_session.items():
        if not any(place.until for place in places) and session_id not in held:
            continue  # the session was never imported
        session = _Session()
        for place in places:
            _compare_place(agent_places, place, session, compared)
            session.nameless_counts |= session.place_counts
            session.place_counts.clear()
        if session.nameless_counts:
            _count_nameless(agent_places, session_id, session)
        compared.sessions += 1
        compared.records += len(session.record_ids)
        compared.only_stored += max(
            0, _get_count(held.get(session_id)) - len(session.record_ids - session.missing.keys())
        )
        _add_losses(agent_places.agent_id, session_id, session, counts)
    sessions_without_source = held.keys() - agent_places.by_session.keys()
    compared.only_stored += sum(held[session_id].count for session_id in sessions_without_source)


def _get_count(held):
    return held.count if held else 0


def _compare_place(agent_places, place: Place, session, compared):
    compared.sources.add(place.source.name)
    try:
        for lines in _build_batches(place.lines(0)):
            _compare_lines(agent_places, place, lines, session)
    except (NotReadable, DamagedDatabase) as exc:
        place.source.problem = str(exc)
        compared.unreadable[place.source.name] = str(exc)


def _build_batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        if line.record is None:
            continue
        batch.append(line)
        size += len(line.raw)
        if len(batch) >= LINES or size >= BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _build_row(line):
    """The row that a record becomes; None when an import rejects the record."""
    try:
        return build_row(line, before=None, fallback_ms=0)
    except UNFORESEEN:
        return None


def _compare_lines(agent_places, place, lines: list[Line], session):
    named: dict[str, list[tuple[Line, Row]]] = {}
    for line in lines:
        expected = _build_row(line)
        if expected is None:
            continue
        if expected.facts.record_id is not None:
            named.setdefault(expected.record_id, []).append((line, expected))
        elif line.offset < place.until:
            _note_nameless(line, expected, session)
    stored = _read_stored(agent_places.db, place.session_id, [*named]) if agent_places.db and named else {}
    for name, pairs in named.items():
        for line, expected in pairs:
            row = stored.get(name)
            if row is not None or line.offset < place.until:
                _compare_record(name, line, row, expected, session)


def _note_nameless(line, expected, session):
    """Count a record without an id by its content.

    The store has to have as many as the place with most of them.
    """
    key = unnamed_records.compute_key(line.record)
    session.place_counts[key] += 1
    session.nameless.setdefault(key, expected.facts.kind)


def _compare_record(name, line, row, expected, session):
    """Compare a record with its stored row. One of several sources has to match."""
    kind = expected.facts.kind
    session.kinds.update([kind] if name not in session.record_ids else [])
    session.record_ids.add(name)
    if row is None:
        session.missing[name] = kind
    elif row["kind"] == WITHHELD or _is_same(line, row, expected):
        session.same.add(name)
        session.different.pop(name, None)
    elif name not in session.same:
        session.different[name] = kind
        session.renamed.update([kind] if row["kind"] != kind else [])


def _count_nameless(agent_places, session_id, session):
    """Find records without an id that are not stored, by their number.

    Withheld records may be any of them.
    """
    stored = Counter(unnamed_records.read_keys(agent_places.db, session_id).values()) if agent_places.db else Counter()
    withheld = stored.pop(WITHHELD, 0)
    for key, count in session.nameless_counts.items():
        kind = session.nameless[key]
        session.kinds[kind] += count
        for number in range(count):
            if number < stored[key]:
                session.record_ids.add(f"@{key}-{number}")
            elif withheld:
                withheld -= 1
                session.record_ids.add(f"@{key}-{number}")
            else:
                session.missing[f"@{key}-{number}"] = kind


def _read_stored(db: str, session_id: str, names: list[str]) -> dict[str, dict[str, Any]]:
    marks = ", ".join(["%s"] * len(names))
    rows = statements.read_rows(db, f"{STORED}{marks})", [session_id, *names])
    return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}


def _is_same(line, row, expected):
    return _says_the_same(line, row) and _has_the_same_columns(line, row, expected)


def _says_the_same(line, row):
    try:
        if row["trim_json"] is None and row["full_zstd"] is None and row["event_json"].encode() == line.raw:
            return True
        whole = untrim(row["event_json"], row["full_zstd"], row["trim_json"])
        return content_digest(whole) == content_digest(line.record)
    except (Refused, ValueError, LookupError, TypeError, AttributeError):  # the stored text is not a record
        return False


def _has_the_same_columns(line, row, expected):
    """Whether the stored columns have the values of the record itself."""
    values = dict(zip(EVENT_COLUMNS, expected.event(""), strict=True))
    values |= dict(zip(IDENTITY_COLUMNS, expected.identity(""), strict=True))
    if expected.facts.created_at is not None and row["created_at"] != values["created_at"]:
        return False
    left_open = PARENT if "parentId" not in line.record else ()  # the record before it is then its parent
    return all(row[name] == values[name] for name in (*COMPARED, *LINKS) if name not in left_open)


def _add_losses(agent_id, session_id, session, counts):
    for kind in sorted({*session.missing.values(), *session.different.values()}):
        missing = sum(lost_kind == kind for lost_kind in session.missing.values())
        different = sum(lost_kind == kind for lost_kind in session.different.values())
        number = session.kinds[kind]
        known = counts.losses.get((agent_id, session_id, kind))
        if known is None:
            known = Loss(agent_id, session_id, kind, number, number - missing, missing)
            counts.losses[agent_id, session_id, kind] = known
        known.missing = max(missing, known.missing - session.renamed[kind])
        known.different = different
        known.in_sources = missing + different
    if session.missing:  # the sources give more detail than the checksum
        counts.losses.pop((agent_id, session_id, IDS), None)
