"""Records without an id, or with a used one: finds which of them are stored, and names new ones.

Such a record is called `@<offset>` after its place. A file that was cut and has grown again, or a second file of the
session, may have another record in that place, and the same record in another one. So their content decides: in a file
that is read from the start, a record with the content of a stored one is that record, each stored one for one record of
the file. In a file that is read on from where the last reading stopped, only a process that was killed can have stored
it before, in this very place.

A record is the one that is stored under its id when both say the same at the same time, wherever it stands. Another one
is called `<id>~2`, and records that follow it in its file follow it here.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count, takewhile
from typing import Any

import orjson

from artifacts import handles
from openclaw_web.errors import Refused

from ..collectors.envelopes import content_digest, without_repeated_output
from ..collectors.jsonl import Line
from ..collectors.records import own_moment, read_facts
from ..models import TranscriptEvent
from .trimming import find_texts, parse_stashed, untrim

WITHHELD = "withheld"
PLACE = ("id", "parentId", "timestamp")  # what is compared otherwise, or not
ROWS = 500


class UnnamedRecords:
    """The records without an id in one reading of one file.

    `find_name` is called for each in the file's order.
    """

    def __init__(self, db: str, session_id: str, names: Mapping[int, str], *, goes_on: bool):
        self.db, self.session_id, self.goes_on = db, session_id, goes_on
        # By offset, beginning with those that are settled: a chunk that failed is stored again under the same names.
        self._names = dict(names)
        self._free: dict[str, dict[str, None]] | None = None  # by content: stored records without a line yet
        # Of each used id: the names of its records by what they say, and the names that come next.
        self._own: dict[str, tuple[dict[Any, str], Iterator[str]]] = {}
        self._stored: dict[str, TranscriptEvent] = {}  # records that may come again, by name
        # A stored record says the same in other words now, or has a successor of the same id in the middle of the file.
        self.is_respelled = False
        self._other_names: dict[str, str] = {}  # of the last record with an id, if that is not its name

    def find_name(self, line: Line, known: Collection[str], seen: Collection[str], *, is_withheld: bool) -> str:
        """The name of the record of `line`: that of a stored record, else a new one.

        `known` are the names of stored records, `seen` those of this reading.
        """
        if line.offset not in self._names:
            place = f"@{line.offset}"
            may_be_stored = bool(known) and (not self.goes_on or place in known)
            stored_name = self._find_stored(line.record, place, is_withheld) if may_be_stored else None
            self._names[line.offset] = stored_name or find_free_name(place, known, seen)
        return self._names[line.offset]

    def load_stored(self, seqs: Mapping[str, int]) -> None:
        """Read stored records that a chunk may repeat: a file that is written anew repeats all of them."""
        places, self._stored = list(seqs.values()), {}
        names = {seq: name for name, seq in seqs.items()}
        for start in range(0, len(places), ROWS):
            rows = TranscriptEvent.objects.using(self.db).filter(session_id=self.session_id)
            self._stored |= {names[row.seq]: row for row in rows.filter(seq__in=places[start : start + ROWS])}

    def find_own_name(self, line: Line, row: Any, known: Collection[str], seen: Mapping[str, Line]) -> str:
        """The name of a record whose id is used: that of the record that says the same, else a new one."""
        record_id = row.record_id
        event, name = self._stored.pop(record_id, None), self._names.get(line.offset)
        if name is None and event is not None and _get_line(event) == line.raw:
            name = record_id
        elif name is None:
            name = self._find_same(line, row, event, known, seen)
        self._names[line.offset] = name
        self.is_respelled |= name not in known and name not in seen and not self.goes_on
        if line.before is None:  # it is in this file
            self._other_names[record_id] = name
        return name

    def _find_same(self, line, row, event, known, seen):
        """The name of the record with this id that says the same, else the next free one."""
        words = find_words(row.facts.kind, line.record)
        names, others = self._own.setdefault(row.record_id, ({}, list_own_names(row.record_id)))
        while words not in names:
            name = next(others)
            if name in seen:
                names.setdefault(find_words(read_facts(seen[name].record).kind, seen[name].record), name)
            elif name in known:
                stored = event if name == row.record_id else None
                stored_words, text = read_words(self.db, self.session_id, name, stored)
                self.is_respelled |= stored_words == words and text not in (None, line.raw)
                names.setdefault(words if stored_words is None else stored_words, name)
            else:
                names[words] = name
        return names[words]

    def find_parent(self, row: Any, known: Collection[str]) -> str | None:
        """The name of the record that a record follows: the last one with that id in its file."""
        if not self.goes_on or row.parent_id in self._other_names:
            return self._other_names.get(row.parent_id, row.parent_id)
        return find_last_name(row.parent_id, known)

    def _find_stored(self, record, place, is_withheld):
        """The name of the stored record that this one is."""
        if self._free is None:
            self._free = defaultdict(dict)
            given = set(self._names.values())  # by this reading: they are other lines of the file
            for name, content_key in read_keys(self.db, self.session_id).items():
                if name not in given:
                    self._free[content_key][name] = None
        for content_key in (compute_key(record), WITHHELD):
            names = self._free.get(content_key, {})
            is_any = not self.goes_on and (content_key != WITHHELD or is_withheld)  # its content is unknown
            match = place if place in names else self._find_other(names, place, is_any)
            if match:
                del names[match]
                return match
        return None

    def _find_other(self, names, place, is_any):
        if self.goes_on:
            return next((name for name in names if name.startswith(f"{place}-")), None)
        return next(iter(names), None) if is_any else None


def compute_key(record: dict[str, Any]) -> str:
    """A fingerprint of a record's content, however its JSON is spelled."""
    content, _left_out = without_repeated_output(record)
    message = content.get("message")
    outputs = {path: _compute_handle(text) for path, text in find_texts(message)} if isinstance(message, dict) else {}
    return _compute_digest(content, outputs)


def read_keys(db: str, session_id: str) -> dict[str, str]:
    """Name -> content key of each stored record without an id, in their order."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id)
    seqs = sorted(events.filter(event_id__gte="@", event_id__lt="A").values_list("seq", flat=True))
    keys: dict[str, str] = {}
    for start in range(0, len(seqs), ROWS):
        for row in events.filter(seq__in=seqs[start : start + ROWS]).order_by("seq").iterator():
            try:
                keys[row.event_id] = WITHHELD if row.kind == TranscriptEvent.Kind.WITHHELD else _compute_stored_key(row)
            except (Refused, ValueError, LookupError, TypeError, AttributeError):  # a damaged row matches no record
                keys[row.event_id] = ""
    return keys


def count_missing(db: str, session_id: str, records: Counter[str]) -> int:
    """How many of these records without an id are not stored, by their content keys.

    Withheld records may be any of them.
    """
    stored = Counter(read_keys(db, session_id).values())
    return max(0, sum((records - stored).values()) - stored[WITHHELD])


def list_own_names(record_id: str) -> Iterator[str]:
    """The names of records with this id, in the order in which they are given."""
    return chain([record_id], (f"{record_id}~{number}" for number in count(2)))


def find_last_name(record_id: str, known: Collection[str]) -> str:
    """The last name in use of records with this id."""
    names = takewhile(known.__contains__, list_own_names(record_id)) if f"{record_id}~2" in known else ()
    return [record_id, *names][-1]


def find_words(kind: str, record: dict[str, Any], trim_json: str | None = None) -> Any:
    """When and what a record says, however it is spelled and wherever its outputs are stored.

    Its parent may be another one in a copy.
    """
    if kind == TranscriptEvent.Kind.SESSION:  # a header that is written anew has another time and version
        return (kind,)
    about = (kind, own_moment(record))
    if kind == TranscriptEvent.Kind.TOOL_RESULT:  # OpenClaw changes paths in outputs when it moves a home
        return *about, read_facts(record).tool_call_id or find_output_handles(record, trim_json)
    if kind == TranscriptEvent.Kind.ASSISTANT:  # thoughts may be left out of a copy, or signed anew
        facts = read_facts(record)
        text = hashlib.sha256(facts.text.encode(errors="replace")).hexdigest()
        return *about, text, tuple((call.id, call.name) for call in facts.calls)
    return *about, content_digest({name: value for name, value in record.items() if name not in PLACE})


def _get_line(event):
    """The line of a stored record, where nothing was cut and nobody's words are withheld."""
    is_whole = event.trim_json is None and event.kind != TranscriptEvent.Kind.WITHHELD
    return event.event_json.encode() if is_whole else None


def read_words(db: str, session_id: str, name: str, event: TranscriptEvent | None = None) -> tuple[Any, bytes | None]:
    """The words of a stored record, and its line where nothing was cut; None where these are not known."""
    if event is None:
        event = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_id=name).first()
    if event is None or event.kind == TranscriptEvent.Kind.WITHHELD:
        return None, None
    try:
        words = find_words(event.kind, untrim(event.event_json, event.full_zstd), event.trim_json)
    except (Refused, ValueError, LookupError, TypeError, AttributeError):  # a damaged row
        return None, None
    return words, _get_line(event)


def find_output_handles(record: dict[str, Any], trim_json: str | None) -> tuple[tuple[str, str], ...]:
    """The handles of a record's outputs by their place.

    Outputs that are no artifacts have handles too.
    """
    message = record.get("message")
    outputs = {path: _compute_handle(text) for path, text in find_texts(message)} if isinstance(message, dict) else {}
    outputs |= {note.path: note.handle for note in parse_stashed(trim_json)}  # the record has a preview there
    return tuple(sorted(outputs.items()))


def _compute_stored_key(row):
    record = untrim(row.event_json, row.full_zstd)
    return _compute_digest(record, dict(find_output_handles(record, row.trim_json)))


def _compute_digest(record, outputs):
    """The hash of a record, in which outputs count by their handles.

    The record of a row may have its outputs in the artifact store, or no longer.
    """
    content_without_outputs = {name: value for name, value in record.items() if name != "message"}
    message = record.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        rest = {name: value for name, value in message.items() if name != "content"}
        content_without_outputs["message"] = [rest, _strip_texts(content, outputs), outputs]
    elif "message" in record:
        content_without_outputs["message"] = message
    return hashlib.sha256(orjson.dumps(content_without_outputs, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _strip_texts(content, outputs):
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return content
    return [
        {name: value for name, value in block.items() if name != "text"}
        if f"message.content.{index}.text" in outputs
        else block
        for index, block in enumerate(content)
    ]


def _compute_handle(text):
    return handles.from_sha256(hashlib.sha256(text.encode()).hexdigest())


def find_free_name(place: str, known: Collection[str], seen: Collection[str]) -> str:
    """A name for a record at this place that no other has."""
    name, number = place, 1
    while name in known or name in seen:
        number += 1
        name = f"{place}-{number}"
    return name
