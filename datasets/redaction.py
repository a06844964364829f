"""Redacts texts of samples and messages: each value becomes a marker. Without Django.

The whole of a text is searched before any format cuts, joins or encodes it, so that no part of a value is left behind.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple

import orjson
import re2

from openclaw_web.detectors.spans import (
    BLOCKING,
    CARD,
    EMAIL,
    IBAN,
    ID_NUMBER,
    IP_ADDRESS,
    NOT_FULLY_SCANNED,
    PHONE,
    Span,
)

from .json_texts import (
    DEPTHS,
    REPLACEMENT,
    QuoteWriter,
    dump_json,
    find_number,
    is_json,
    is_kept,
    is_number,
    looks_like_json,
)
from .markers import build_marker, has_marker
from .sample_texts import ExportSample, GateAnswer, WriteRequest

OPEN, CONFIRMED, DISMISSED = "open", "confirmed", "dismissed"  # of datasets.finding_values
PERSONAL = frozenset({EMAIL, PHONE, CARD, IBAN, ID_NUMBER, IP_ADDRESS})  # kinds that are no secrets
HALVES = re.compile("[\ud800-\udfff]")
MEMORY = 256 * 1024 * 1024  # of the pattern of added values; 10,000 of them do not fit into RE2's own limit
MOST_REMEMBERED = 250_000  # characters of texts whose findings are remembered, twice
# Columns of a stored sample that nobody wrote as text: ids, names of states, times.
PLAIN_COLUMNS = frozenset(
    (
        *("id", "sample_type", "agent_id", "session_id", "turn_id", "decision_id", "audit_id", "annotation_status"),
        *("annotated_by", "reject_reason", "label_id", "gate_label", "guardian_label", "prompted_by", "reply_stop"),
        *("turn_traits", "repeat_of", "collection_strategy"),
    )
)


class Place(NamedTuple):
    """The place of a text, as verdicts name it: the agent, and its turn or row."""

    agent_id: str = ""
    name: str = ""


NOWHERE = Place()


class Value(NamedTuple):
    """A value in a text, from `start` to `end`.

    `hashes` are keyed hashes by which verdicts may know it: the last is of the value without escapes of JSON.
    """

    start: int
    end: int
    kind: str
    rule: str
    hashes: tuple[str, ...]
    is_bare: bool = False
    quote: str = ""  # around a bare number, where it is known
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of redaction for one export.

    `find_spans` finds the values of a text, and `hash_value` hashes one by kind and value. `find_state` is the verdict
    of people, as `datasets.finding_values` has it: `open`, `confirmed` or `dismissed` by kind, rule, hash and place.
    `added` are pairs of kind and value that people added. Values of `exempt` kinds stay as they are.
    """

    find_spans: Callable[[str], Sequence[Span]]
    hash_value: Callable[[str, str], str]
    find_state: Callable[[str, str, str, Place], str] | None = None
    added: Sequence[tuple[str, str]] = ()
    exempt: frozenset[str] = frozenset()


class Redactor:
    """Puts markers into texts by the rules of an export.

    What was found in the latest texts is remembered: a reply is read from its record and from its sample.
    """

    def __init__(self, rules: Rules):
        self.rules = rules
        self._added = _AddedValues(rules) if rules.added else None
        self._latest: dict[str, tuple[Value, ...]] = {}
        self._before: dict[str, tuple[Value, ...]] = {}
        self._size = 0

    def redact(self, text: str, place: Place = NOWHERE) -> str:
        """The text with a marker in place of each value.

        A bare number of JSON becomes a string, as deep as it stands.
        """
        values = self._find_values(text) if text else ()
        redacted = self._replace(text, values, place) if values else text
        may_break = redacted != text and looks_like_json(text)
        # Values with only digits that were not said to be bare numbers.
        may_break = may_break and any(not each.is_bare and is_number(text[each.start : each.end]) for each in values)
        if may_break and not is_kept(text, redacted):
            redacted = self._replace(text, [_widen_number(text, value) for value in values], place)
        return redacted

    def _replace(self, text, values, place):
        parts, end, quotes = [], 0, QuoteWriter(text)
        for value in values:
            marker = self._build_marker(value, place)
            if marker is not None:
                if value.is_bare:
                    quote = value.quote
                    marker = f"{quote}{marker}{quote}" if quote else quotes.put_around(marker, value.start)
                parts += [text[end : value.start], marker]
                end = value.end
        return "".join([*parts, text[end:]]) if parts else text

    def redact_json(self, value: Any, place: Place = NOWHERE) -> Any:
        """A value of JSON with markers in its texts, names and numbers."""
        text = dump_json(value)
        redacted = self.redact(text, place)
        if redacted == text:
            return value
        try:
            return json.loads(redacted, object_pairs_hook=_build_object)
        except ValueError:
            return self._redact_leaves(value, place)

    def redact_known(self, text: str | None, place: Place = NOWHERE) -> str | None:
        """The text with markers; None where there is none."""
        return None if text is None else self.redact(text, place)

    def _redact_leaves(self, value, place):
        if isinstance(value, dict):
            pairs = [(self.redact(name, place), self._redact_leaves(item, place)) for name, item in value.items()]
            return _build_object(pairs)
        if isinstance(value, list):
            return [self._redact_leaves(item, place) for item in value]
        text = value if isinstance(value, str) else dump_json(value)
        redacted = self.redact(text, place)
        return value if redacted == text else redacted.strip('"')

    def _build_marker(self, value, place):
        """The marker of a value; None where it stays."""
        is_known = value.is_added or value.kind == NOT_FULLY_SCANNED
        state = CONFIRMED if is_known else self._find_state(value, place)
        if state == DISMISSED:
            return None
        return build_marker(value.kind, value.hashes[-1], is_open=state == OPEN and value.kind in BLOCKING)

    def _find_state(self, value, place):
        if self.rules.find_state is None:
            return OPEN
        states = (self.rules.find_state(value.kind, value.rule, value_hash, place) for value_hash in value.hashes)
        return next((state for state in states if state != OPEN), OPEN)

    def _find_values(self, text):
        values = self._latest.get(text)
        if values is None:
            values = self._before.get(text)
            if values is None:
                values = self._search(text)
            self._latest[text] = values
            self._size += len(text)
            if self._size > MOST_REMEMBERED:
                self._latest, self._before, self._size = {}, self._latest, 0
        return values

    def _search(self, text):
        spans = self.rules.find_spans(text)
        if not spans and not self._added:
            return ()
        values = [
            Value(*span[:4], self._hash(span.kind, text[span.start : span.end]), span.is_bare, span.quote)
            for span in spans
            if span.kind not in self.rules.exempt  # else an added value within one would stay
        ]
        return tuple(_merge(values, self._added.find(text)) if self._added else values)

    def _hash(self, kind, value):
        return tuple(self.rules.hash_value(kind, spelling) for spelling in _decode(value))


class _AddedValues:
    """Finds the values that people added, in a text and in JSON within it."""

    def __init__(self, rules: Rules):
        self.kinds: dict[str, tuple[str, str]] = {}
        for kind, value in rules.added:
            if kind in rules.exempt:
                continue
            for spelling in map(_fold, _spell(value)):
                self.kinds.setdefault(spelling, (kind, rules.hash_value(kind, value)))
        longest_first = sorted(filter(None, self.kinds), key=len, reverse=True)
        self.pattern = _compile_choice(longest_first) if longest_first else None

    def find(self, text: str) -> list[Value]:
        """The added values in a text, in order."""
        if self.pattern is None:
            return []
        hits = [(match.start(), match.end(), match[0]) for match in self.pattern.finditer(_fold(text))]
        has_json = bool(hits) and looks_like_json(text) and is_json(text)
        values = []
        for start, end, spelling in hits:
            kind, value_hash = self.kinds[spelling]
            number = find_number(text, start, end) if has_json else None
            first, last = number or (start, end)
            values.append(Value(first, last, kind, "", (value_hash,), number is not None, is_added=True))
        return values


def redact_sample(redactor: Redactor, sample: ExportSample, row: Mapping[str, Any]) -> ExportSample:
    """The sample with markers in every text that a row may have, and the texts that were judged beside them.

    `row` are its columns. A sample with its stored row has markers in all texts of these columns too.
    """
    place = Place(sample.agent_id, f"record:{sample.session_id}/{sample.turn_number}")
    decision_id = row.get("decision_id")
    gate_place = Place(sample.agent_id, f"decision:{decision_id}") if decision_id else place
    write_place = Place(sample.agent_id, f"write:{row.get('audit_id') or ''}")
    sample.judged_texts = (sample.user_text, sample.agent_reply)
    sample.user_text = redactor.redact(sample.user_text, place)
    sample.agent_reply = redactor.redact(sample.agent_reply, place)
    sample.edited_reply = redactor.redact_known(sample.edited_reply, place)
    sample.redact_message = lambda text: redactor.redact(text, place)
    sample.gate, sample.said_gate = (
        answer and GateAnswer(*(redactor.redact(text, gate_place) for text in astuple(answer)))
        for answer in (sample.gate, sample.said_gate)
    )
    if sample.write:
        redact, known, request = redactor.redact, redactor.redact_known, sample.write
        content = known(request.content, write_place)
        sample.write = WriteRequest(redact(request.fact, write_place), redact(request.file, write_place), content)
        sample.guardian, sample.said_guardian = (
            answer
            and replace(
                answer,
                file=redact(answer.file, write_place),
                reason=redact(answer.reason, write_place),
                content=known(answer.content, write_place),
            )
            for answer in (sample.guardian, sample.said_guardian)
        )
    if sample.stored is not None:
        sample.stored = {
            name: value if name in PLAIN_COLUMNS or not isinstance(value, str) else redactor.redact(value, place)
            for name, value in sample.stored.items()
        }
    return sample


def _merge(values, added):
    """Values in order, with those that overlap as one, so that no part is left over."""
    merged: list[Value] = []
    for value in sorted([*values, *added], key=lambda value: (value.start, -value.end)):
        if merged and value.start < merged[-1].end:
            merged[-1] = _join(merged[-1], value)
        else:
            merged.append(value)
    return merged


def _join(first, second):
    """One value of two that overlap, of the kind of the longer one."""
    whole = first if first.end >= second.end else second
    is_added = first.is_added or second.is_added
    start, end = min(first.start, second.start), max(first.end, second.end)
    return whole._replace(start=start, end=end, is_added=is_added, is_bare=first.is_bare or second.is_bare)


def _compile_choice(texts):
    options = re2.Options()
    options.max_mem = MEMORY
    return re2.compile("|".join(map(re2.escape, texts)), options)


def _fold(text):
    """A text of the same length in lower case, which RE2 can read.

    Halves of surrogate pairs are replaced.
    """
    if text.isascii():
        return text.lower()
    text = HALVES.sub(REPLACEMENT, text)
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(sign.lower()[:1] for sign in text)


def _spell(value):
    """The spellings of a value in texts, and in strings of JSON at two depths."""
    spellings = {value: None}
    for spell in (lambda text: orjson.dumps(text).decode()[1:-1], lambda text: json.dumps(text)[1:-1]):
        spelling = value
        for _depth in range(2):
            try:
                spelling = spell(spelling)
            except TypeError:  # half a surrogate pair
                break
            spellings[spelling] = None
    return spellings


def _decode(value):
    """A value, and the same without the escapes of JSON, layer by layer."""
    yield value
    for _depth in range(DEPTHS):
        if "\\" not in value:
            return
        try:
            value = orjson.loads(f'"{value}"')
        except orjson.JSONDecodeError:
            return
        yield value


def _widen_number(text, value):
    """A value as the whole bare number around it, unless it stands in a string."""
    number = None if value.is_bare else find_number(text, value.start, value.end)
    return value._replace(start=number[0], end=number[1], is_bare=True) if number else value


def _build_object(pairs):
    """An object of these pairs, with a number after names that became the same."""
    built: dict[str, Any] = {}
    for name, value in pairs:
        key, number = name, 1
        while key in built and has_marker(key):
            number += 1
            key = f"{name} ({number})"
        built[key] = value
    return built
