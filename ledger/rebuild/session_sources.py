"""The sources of a session that is imported again, and its records without a source.

They are put in order, records without an id get their names again, and records that no source has any more stay where
they were.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import takewhile

import orjson

from openclaw_web.sqlite.json_columns import decode

from .. import source_order
from ..collectors.envelopes import content_digest, with_repeated_output
from ..collectors.jsonl import Line
from ..collectors.records import Facts, own_id, own_moment, own_parent, read_facts
from ..models import Session, TranscriptEvent
from ..outputs import output_stash
from ..source_order import SourceRecords
from ..transcripts import trimming, unnamed_records
from ..transcripts.rows import Row
from ..transcripts.transcript_store import Transcript
from ..transcripts.trimming import untrim

WITHHELD = TranscriptEvent.Kind.WITHHELD


@dataclass(frozen=True, slots=True)
class SessionSource:
    """One source of a session: its description for `store_transcript`, and its lines.

    `lines` opens the source anew each time it is called.
    """

    transcript: Transcript
    lines: Callable[[], AbstractContextManager[Iterator[Line]]]


def order_sources(parts: list[SessionSource]) -> list[SessionSource]:
    """The sources of a session in the order in which they are stored.

    When one of them is live, all are marked as live.
    """
    if len(parts) < 2:
        return parts
    by_name = {f"{part.transcript.file}\n{place}": part for place, part in enumerate(parts)}
    ordered = source_order.order_sources(_read_source_records(name, part) for name, part in by_name.items())
    names = [source.name for source in ordered]
    ordered_parts = [by_name[name] for name in [*(name for name in by_name if name not in names), *names]]
    if any(part.transcript.state == Session.State.LIVE for part in parts):
        for part in parts:
            part.transcript.state = Session.State.LIVE
    return ordered_parts


def _read_source_records(name, part):
    records = SourceRecords(name)
    with part.lines() as lines:
        for line in lines:
            if line.record is not None:
                record_id = own_id(line.record) or unnamed_records.compute_key(line.record)
                records.add(record_id, own_parent(line.record), own_moment(line.record))
    return records


class KeptRecords:
    """The names of records without an id, and the records that no source holds any more.

    A record that lost its id is known by the id in its content. `unreadable` are those with an output that cannot
    be read.
    """

    def __init__(self, db, session_id, parts, moved=()):
        self.moved: Counter[str] = Counter()
        stored = _read_places(db, session_id)
        self.stored = {record_id for record_id, _seq in stored}
        naming = _Naming(db, session_id, {record_id: place for place, (record_id, _seq) in enumerate(stored)})
        self.names = [naming.find_names(part) for part in parts] if stored else [{} for _part in parts]
        self._db, self._session_id = db, session_id
        self.places: dict[str, tuple[int, int]] = {}  # record id -> seq, and an offset that no source has
        self.unreadable: set[str] = set()
        self._after: dict[str | None, list[str]] = defaultdict(list)
        before, elsewhere = None, _compute_digests(moved)
        for record_id, seq in stored:
            line = None if record_id in naming.met else self._read_line(record_id, seq)
            if line is not None and elsewhere and _compute_digest(line.record) in elsewhere:
                self.moved[read_facts(line.record).kind] += 1
                continue
            # A damaged row may be known by another name than its record has, which a source or another row holds.
            name = record_id if line is None or record_id in naming.others else own_id(line.record or {})
            if name in naming.met or (name != record_id and name in self.stored and self._says(line, name)):
                before = name
            elif line is not None:
                is_own = name is None or record_id.startswith(f"{name}~")
                kept_id = record_id if is_own or name in self.stored or name in self.places else name
                self.places[kept_id] = seq, -len(self.places) - 1
                self._after[before].append(kept_id)
        settled = {offset: record_id for record_id, (_seq, offset) in self.places.items()}
        for names in self.names:
            names.update(settled)

    def _says(self, line, name):
        """Whether the stored record of this name says what a line says."""
        words = unnamed_records.find_words(read_facts(line.record).kind, line.record)
        return unnamed_records.read_words(self._db, self._session_id, name)[0] == words

    def _read_line(self, record_id, seq, offset=0):
        """A stored record as a line; None when its row is lost.

        An output that cannot be read stays as its preview.
        """
        db, session_id = self._db, self._session_id
        event = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq=seq).first()
        if event is None:
            return None
        try:
            record = untrim(event.event_json, event.full_zstd, event.trim_json)
        except output_stash.UNREADABLE:
            record = untrim(event.event_json, event.full_zstd)
            self.unreadable.add(record_id)
        record = with_repeated_output(record, trimming.parse_repeated_length(event.trim_json))
        if event.kind == WITHHELD:
            record = {"type": event.event_type, "id": record_id, "parentId": event.parent_id}
            record["timestamp"] = event.created_at
        is_own = event.trim_json is None and event.kind != WITHHELD  # the row is the line itself, in its own spelling
        raw = event.event_json.encode() if is_own else orjson.dumps(record)
        before = Row(event.parent_id, None, event.created_at, Facts("", ""), "", None, None, None)  # type: ignore[arg-type]
        return Line(offset, offset, raw, record, is_withheld=event.kind == WITHHELD, before=before)

    def interleave(self, lines: Iterator[Line], names: Mapping[int, str], *, is_first: bool) -> Iterator[Line]:
        """The lines of a source, each followed by the kept records that stood after it."""
        if is_first:
            yield from self._pop_followers(None)
        for line in lines:
            yield line
            if self._after and line.record is not None:
                yield from self._pop_followers(names.get(line.offset) or own_id(line.record))

    def _pop_followers(self, record_id):
        for kept_id in self._after.pop(record_id, ()):
            yield self._read_line(kept_id, *self.places[kept_id])


class _Naming:
    """Finds which stored records the sources hold.

    A record without an id is recognised by its content, and keeps its name.
    """

    def __init__(self, db, session_id, stored):
        self.stored, self.met, self.last = stored, set(), -1  # the place of the record that was met last
        self._place = db, session_id
        self.others = {name for name in stored if (number := name.rpartition("~"))[0] in stored and number[2].isdigit()}
        self._by_key: dict[str, list[str]] = defaultdict(list)
        if any(record_id.startswith("@") for record_id in stored):
            for name, content_key in unnamed_records.read_keys(db, session_id).items():
                self._by_key[content_key].append(name)

    def find_names(self, part) -> dict[int, str]:
        """The names of the records without an id in a source, by offset."""
        names = {}
        with part.lines() as lines:
            for line in lines:
                if line.record is None:
                    continue
                name = own_id(line.record)
                if name is None:
                    name = names[line.offset] = self._find_name(line)
                elif f"{name}~2" in self.others:
                    name = names[line.offset] = self._find_own_name(name, line.record)
                self.met.add(name)
                self.last = self.stored.get(name, self.last)
        return names

    def _find_name(self, line):
        place = f"@{line.offset}"
        known = self._by_key.get(unnamed_records.compute_key(line.record), []) or self._find_withheld(place)
        if known:
            # Of several records with this content, take the one that comes next.
            later = (name for name in known if self.stored[name] > self.last)
            name = next(later, place if place in known else known[0])
            known.remove(name)
            return name
        return unnamed_records.find_free_name(place, self.stored, self.met)

    def _find_own_name(self, record_id, record):
        """The name of a record whose id several stored records have: of the one that says the same, else its id."""
        words = unnamed_records.find_words(read_facts(record).kind, record)
        names = takewhile(self.stored.__contains__, unnamed_records.list_own_names(record_id))
        return next((name for name in names if unnamed_records.read_words(*self._place, name)[0] == words), record_id)

    def _find_withheld(self, place):
        """The withheld record at a place, as a list; only its place is known."""
        return [place] if place in self._by_key.get(unnamed_records.WITHHELD, ()) and place not in self.met else []


def _compute_digests(parts):
    """The digests of all records of some sources."""
    digests = set()
    for part in parts:
        with part.lines() as lines:
            digests |= {_compute_digest(line.record) for line in lines if line.record is not None}
    return digests


def _compute_digest(record):
    return content_digest(record) if record else ""


def _read_places(db, session_id):
    """The ids and places of stored records, with those of records that lost their ids."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id)
    stored = list(events.order_by("seq").values_list("event_id", "seq"))
    known = {record_id for record_id, _seq in stored} - {None}
    if len(known) < len(stored):
        lost = dict(events.filter(event_id__isnull=True).values_list("seq", "event_json"))
        for place, (_record_id, seq) in enumerate(stored):
            if seq in lost and (record_id := own_id(decode(lost[seq]))) not in known:
                stored[place] = record_id, seq
                known.add(record_id)
    return [(record_id, seq) for record_id, seq in stored if record_id is not None]
