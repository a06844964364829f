"""Records without an id: which of them the store has already, and what a new one is called.

Such a record is called `@<offset>` after its place. A file that was cut and has grown again, or a second file of the
session, may have another record in that place, and the same record in another one. So what they say decides: read from
the start, a record that says what a stored one says is that one, each stored one for one record of the file. Read on
from where the last reading stopped, only a process that was killed can have stored it before, in this very place.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from artifacts import handles
from openclaw_web.errors import Refused

from ..collectors.envelopes import without_repeated_output
from ..collectors.jsonl import Line
from ..models import TranscriptEvent, TranscriptEventIdentity
from .trimming import find_texts, parse_stashed, untrim

WITHHELD = "withheld"
ROWS = 500


class UnnamedRecords:
    """The records without an id in one reading of one file; `name` is asked for each in the file's order."""

    def __init__(self, db: str, session_id: str, names: Mapping[int, str], *, goes_on: bool):
        self.db, self.session_id, self.goes_on = db, session_id, goes_on
        # By offset, beginning with those that are settled: a chunk that failed is stored again under the same names.
        self._names = dict(names)
        self._free: dict[str, dict[str, None]] | None = None  # by what they say: stored ones that nothing was yet

    def find_name(self, line: Line, known: Collection[str], seen: Collection[str], *, is_withheld: bool) -> str:
        """What the record of `line` is called: one of `known` when the store has it, else a name that is free."""
        if line.offset not in self._names:
            place = f"@{line.offset}"
            may_be_stored = bool(known) and (not self.goes_on or place in known)
            found = self._stored(line.record, place, is_withheld) if may_be_stored else None
            self._names[line.offset] = found or find_free_name(place, known, seen)
        return self._names[line.offset]

    def _stored(self, record, place, is_withheld):
        """The name of the stored record that this one is."""
        if self._free is None:
            self._free = defaultdict(dict)
            given = set(self._names.values())  # by this reading: they are other lines of the file
            for name, what in read_keys(self.db, self.session_id).items():
                if name not in given:
                    self._free[what][name] = None
        for what in (compute_key(record), WITHHELD):
            names = self._free.get(what, {})
            is_any = not self.goes_on and (what != WITHHELD or is_withheld)  # what was withheld says nothing
            found = place if place in names else self._other(names, place, is_any)
            if found:
                del names[found]
                return found
        return None

    def _other(self, names, place, is_any):
        if self.goes_on:
            return next((name for name in names if name.startswith(f"{place}-")), None)
        return next(iter(names), None) if is_any else None


def compute_key(record: dict[str, Any]) -> str:
    """A fingerprint of what a record says, however its JSON is spelled."""
    told, _left_out = without_repeated_output(record)
    message = told.get("message")
    outputs = {path: _handle(text) for path, text in find_texts(message)} if isinstance(message, dict) else {}
    return _digest(told, outputs)


def read_keys(db: str, session_id: str) -> dict[str, str]:
    """The `key` of each record without an id that the store has of a session, by its name, in their order."""
    names = _stored_names(db, session_id)
    found: dict[str, str] = {}
    seqs = list(names)
    for start in range(0, len(seqs), ROWS):
        rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__in=seqs[start : start + ROWS])
        for row in rows.order_by("seq").iterator():
            try:
                found[names[row.seq]] = WITHHELD if row.kind == TranscriptEvent.Kind.WITHHELD else _stored_key(row)
            except (Refused, ValueError, LookupError, TypeError, AttributeError):  # a damaged row says what none does
                found[names[row.seq]] = ""
    return found


def count_missing(db: str, session_id: str, records: Counter[str]) -> int:
    """How many of these records without an id (their keys) the store does not have; withheld ones may be any."""
    stored = Counter(read_keys(db, session_id).values())
    return max(0, sum((records - stored).values()) - stored[WITHHELD])


def _stored_names(db, session_id):
    identities = TranscriptEventIdentity.objects.using(db).filter(
        session_id=session_id, event_id__gte="@", event_id__lt="A"
    )
    return dict(identities.order_by("seq").values_list("seq", "event_id"))


def find_output_handles(row: TranscriptEvent, record: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The handles of a stored record's outputs by their place, those outside of the artifact store too."""
    message = record.get("message")
    outputs = {path: _handle(text) for path, text in find_texts(message)} if isinstance(message, dict) else {}
    outputs |= {note.path: note.handle for note in parse_stashed(row.trim_json)}  # the record has a preview there
    return tuple(sorted(outputs.items()))


def _stored_key(row):
    record = untrim(row.event_json, row.full_zstd)
    return _digest(record, dict(find_output_handles(row, record)))


def _digest(record, outputs):
    """Outputs count by their handles: the record of a row may have them in the artifact store, or no more."""
    told = {name: value for name, value in record.items() if name != "message"}
    message = record.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        rest = {name: value for name, value in message.items() if name != "content"}
        told["message"] = [rest, _without_texts(content, outputs), outputs]
    elif "message" in record:
        told["message"] = message
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _without_texts(content, outputs):
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


def _handle(text):
    return handles.from_sha256(hashlib.sha256(text.encode()).hexdigest())


def find_free_name(place: str, known: Collection[str], seen: Collection[str]) -> str:
    """A name for a record at this place that no other has."""
    name, number = place, 1
    while name in known or name in seen:
        number += 1
        name = f"{place}-{number}"
    return name
