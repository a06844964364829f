"""`doctor --deep`: every record of every readable source, compared with the stored record by what it says."""

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

LINES, BYTES = 400, 8 * 1024 * 1024  # of a source that are held at once
WITHHELD = "withheld"
# Where records stand and how far they were read says the store alone.
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
    """How much was compared: sources that were read, records in them, and records that no source holds any more."""

    sources: set[str] = field(default_factory=set)
    records: int = 0
    kept: int = 0
    sessions: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)  # source -> why


@dataclass(slots=True)
class _Session:
    """One session under comparison, by record id."""

    found: set[str] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    here: Counter[str] = field(default_factory=Counter)  # records without an id in the place that is being read
    told: Counter[str] = field(default_factory=Counter)  # and the most of each that one place has, by what they say
    nameless: dict[str, str] = field(default_factory=dict)  # their kinds
    missing: dict[str, str] = field(default_factory=dict)  # id -> kind
    different: dict[str, str] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)  # records that have to be there
    renamed: Counter[str] = field(default_factory=Counter)  # different ones that are stored as another kind


def compare_agent(looked: AgentPlaces, counts: Counts, compared: Comparison) -> None:
    """Compare every record of one agent; what is missing or different is added to the losses of `counts`."""
    held = counts.held.get(looked.agent_id, {})
    for session_id, places in looked.by_session.items():
        if not any(place.until for place in places) and session_id not in held:
            continue  # nothing of it was ever imported
        one = _Session()
        for place in places:
            _place(looked, place, one, compared)
            one.told |= one.here
            one.here.clear()
        if one.told:
            _count_nameless(looked, session_id, one)
        compared.sessions += 1
        compared.records += len(one.found)
        compared.kept += max(0, _count(held.get(session_id)) - len(one.found - one.missing.keys()))
        _add(looked.agent_id, session_id, one, counts)
    without = held.keys() - looked.by_session.keys()
    compared.kept += sum(held[session_id].count for session_id in without)


def _count(held):
    return held.count if held else 0


def _place(looked, place: Place, one, compared):
    compared.sources.add(place.source.name)
    try:
        for lines in _batches(place.lines(0)):
            _lines(looked, place, lines, one)
    except (NotReadable, DamagedDatabase) as exc:
        place.source.problem = str(exc)
        compared.unreadable[place.source.name] = str(exc)


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    some: list[Line] = []
    size = 0
    for line in lines:
        if line.record is None:
            continue
        some.append(line)
        size += len(line.raw)
        if len(some) >= LINES or size >= BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _wanted(line):
    """The row that a line's record becomes; None for one that a collect rejects."""
    try:
        return build_row(line, before=None, fallback_ms=0)
    except UNFORESEEN:
        return None


def _lines(looked, place, lines: list[Line], one):
    named: dict[str, list[tuple[Line, Row]]] = {}
    for line in lines:
        wanted = _wanted(line)
        if wanted is None:
            continue
        if wanted.facts.record_id is not None:
            named.setdefault(wanted.record_id, []).append((line, wanted))
        elif line.offset < place.until:
            _nameless(line, wanted, one)
    stored = _stored(looked.db, place.session_id, [*named]) if looked.db and named else {}
    for name, some in named.items():
        for line, wanted in some:
            row = stored.get(name)
            if row is not None or line.offset < place.until:
                _record(name, line, row, wanted, one)


def _nameless(line, wanted, one):
    """A record without an id is known by what it says; the store has to have as many as one place tells."""
    what = unnamed_records.compute_key(line.record)
    one.here[what] += 1
    one.nameless.setdefault(what, wanted.facts.kind)


def _record(name, line, row, wanted, one):
    """Sort one record in. Of several places that tell of it one has to say what is stored."""
    kind = wanted.facts.kind
    one.kinds.update([kind] if name not in one.found else [])
    one.found.add(name)
    if row is None:
        one.missing[name] = kind
    elif row["kind"] == WITHHELD or _is_same(line, row, wanted):
        one.same.add(name)
        one.different.pop(name, None)
    elif name not in one.same:
        one.different[name] = kind
        one.renamed.update([kind] if row["kind"] != kind else [])


def _count_nameless(looked, session_id, one):
    """Which records without an id the store does not have, one for one; those that are withheld may be any."""
    stored = Counter(unnamed_records.read_keys(looked.db, session_id).values()) if looked.db else Counter()
    withheld = stored.pop(WITHHELD, 0)
    for what, count in one.told.items():
        kind = one.nameless[what]
        one.kinds[kind] += count
        for number in range(count):
            if number < stored[what]:
                one.found.add(f"@{what}-{number}")
            elif withheld:
                withheld -= 1
                one.found.add(f"@{what}-{number}")
            else:
                one.missing[f"@{what}-{number}"] = kind


def _stored(db: str, session_id: str, names: list[str]) -> dict[str, dict[str, Any]]:
    marks = ", ".join(["%s"] * len(names))
    rows = statements.read_rows(db, f"{STORED}{marks})", [session_id, *names])
    return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}


def _is_same(line, row, wanted):
    return _says_the_same(line, row) and _has_the_same_columns(line, row, wanted)


def _says_the_same(line, row):
    try:
        if row["trim_json"] is None and row["full_zstd"] is None and row["event_json"].encode() == line.raw:
            return True
        whole = untrim(row["event_json"], row["full_zstd"], row["trim_json"])
        return content_digest(whole) == content_digest(line.record)
    except (Refused, ValueError, LookupError, TypeError, AttributeError):  # what is stored there is no record
        return False


def _has_the_same_columns(line, row, wanted):
    """Whether what lists and sums read of a record is what it says itself."""
    values = dict(zip(EVENT_COLUMNS, wanted.event(""), strict=True))
    values |= dict(zip(IDENTITY_COLUMNS, wanted.identity(""), strict=True))
    if wanted.facts.created_at is not None and row["created_at"] != values["created_at"]:
        return False
    left_open = PARENT if "parentId" not in line.record else ()  # then the record before it is its parent
    return all(row[name] == values[name] for name in (*COMPARED, *LINKS) if name not in left_open)


def _add(agent_id, session_id, one, counts):
    for kind in sorted({*one.missing.values(), *one.different.values()}):
        missing = sum(found == kind for found in one.missing.values())
        different = sum(found == kind for found in one.different.values())
        number = one.kinds[kind]
        known = counts.losses.get((agent_id, session_id, kind))
        if known is None:
            known = Loss(agent_id, session_id, kind, number, number - missing, missing)
            counts.losses[agent_id, session_id, kind] = known
        known.missing = max(missing, known.missing - one.renamed[kind])
        known.different = different
        known.in_sources = missing + different
    if one.missing:  # the sources tell more than the checksum
        counts.losses.pop((agent_id, session_id, IDS), None)
