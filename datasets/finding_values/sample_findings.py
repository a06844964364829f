"""Marks the findings of a sample in the texts that its page shows."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from html import escape
from typing import Any, NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents import databases
from findings import places
from findings import services as findings
from findings.detection import read_detection
from findings.finding_store import PERSON_RULE
from findings.transcript_documents import read_record
from findings.value_hash import compute_value_hash
from ledger.models import ConversationTurn, TranscriptEvent
from openclaw_web.detectors import detect
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs, states

from ..models import DatasetSample, FindingVerdict
from . import verdicts, words
from .decisions import CONFIRMED, DISMISSED, DecisionCache
from .sample_privacy import find_place, read_added_in

# Signs around a value while its text becomes HTML: private-use characters, which no escaping changes.
OPEN_SIGN, CLOSE_SIGN, FIRST_NUMBER, MOST_MARKS = "\ue000", "\ue001", 0xE100, 200
SIGNS = re.compile("[\ue000-\ue3ff]")
PARTS = re.compile(f"<[^>]*>|{OPEN_SIGN}(.)|{CLOSE_SIGN}")
LONGEST = 200_000  # characters of a page's texts that are searched


class Mark(NamedTuple):
    """A value in a text, from `start` to `end`, with its kind and state."""

    start: int
    end: int
    kind: str
    state: str
    value_hash: str


class SampleMarks:
    """Marks the findings in texts of one sample, by the verdicts in force."""

    def __init__(self, sample: DatasetSample):
        self.counts: Counter[tuple[str, str, str]] = Counter()  # places by kind, state and hash
        self._sample, self._place = sample, find_place(sample)
        self._detection = read_detection()
        self._added = read_added_in(sample.agent_id, sample.session_id)
        self._cache = DecisionCache()
        self._room = LONGEST
        self._texts: dict[str, list[Mark]] = {}

    def mark(self, text: Any, render: Callable[[str], SafeString] = glyphs.to_html) -> SafeString:
        """A text as HTML with its findings marked.

        `render` makes HTML of it, by default by escaping alone.
        """
        text = text if isinstance(text, str) else str(text or "")
        marks = [] if SIGNS.search(text) else self.find(text)
        if not marks:
            return render(text)
        parts, end = [], 0
        for number, mark in enumerate(marks[:MOST_MARKS]):
            sign = f"{OPEN_SIGN}{chr(FIRST_NUMBER + number)}"
            parts += [text[end : mark.start], sign, text[mark.start : mark.end], CLOSE_SIGN]
            end = mark.end
        return _replace_signs(render("".join([*parts, text[end:]])), marks)

    def find(self, text: str) -> list[Mark]:
        """The findings of a text that nobody dismissed, in order."""
        if text not in self._texts:
            self._room -= len(text)
            self._texts[text] = self._search(text) if self._room >= 0 else []
            self.counts.update((mark.kind, mark.state, mark.value_hash) for mark in self._texts[text])
        return self._texts[text]

    def list_found(self) -> list[dict[str, object]]:
        """The findings that were marked so far: kind in words, state, hash and number of places."""
        rows = [(words.get_kind_word(kind), state, name, count) for (kind, state, name), count in self.counts.items()]
        return [dict(zip(("kind", "state", "value_hash", "count"), row, strict=True)) for row in sorted(rows)]

    def _search(self, text):
        spans = detect.find_spans(text, self._detection.custom)
        hashes = [compute_value_hash(span.kind, text[span.start : span.end]) for span in spans]
        self._cache.load(hashes)
        marks = []
        for span, name in zip(spans, hashes, strict=True):
            state = self._cache.find_state(span.kind, span.rule, name, self._place, self._sample.agent_id)
            if state != DISMISSED:
                marks.append(Mark(span.start, span.end, span.kind, state, name))
        return _join(marks, [mark for kind, value in self._added for mark in _find_added(text, kind, value)])


def _find_added(text, kind, value):
    name = compute_value_hash(kind, value)
    return [Mark(*match.span(), kind, CONFIRMED, name) for match in re.finditer(re.escape(value), text)]


def _join(marks, added):
    """Marks in order, without those that overlap one before."""
    joined: list[Mark] = []
    for mark in sorted([*marks, *added]):
        if not joined or mark.start >= joined[-1].end:
            joined.append(mark)
    return joined


def _replace_signs(html, marks):
    """HTML with <mark> in place of the signs; none reaches over a tag."""
    current = ""

    def replace(match):
        nonlocal current
        if match[0] == CLOSE_SIGN:
            end, current = "</mark>" if current else "", ""
            return end
        if match[1]:
            current = _build_tag(marks[ord(match[1]) - FIRST_NUMBER])
            return current
        tag = SIGNS.sub("", match[0])
        return f"</mark>{tag}{current}" if current else tag

    return SafeString(PARTS.sub(replace, html))


def _build_tag(mark):
    title = f"{words.get_kind_word(mark.kind)}, {states.word(mark.state)}"
    return f'<mark title="{escape(title)}">'


QUESTION, REPLY = "question", "reply"
MOST_RECORDS = 500  # of a turn that are searched
KINDS_OF_PART = {QUESTION: ("user",), REPLY: ("assistant",)}


def add_selected(sample: DatasetSample, text: str, part: str, kind: str, *, by: str) -> FindingVerdict:
    """Store the finding that a person selected in a sample, with the verdict that adds it.

    `part` says whether the text was selected in the question or in the reply; the records of the other one are searched
    after these. Raises Refused when the text does not stand in the turn's records, and for one too long.
    """
    db = databases.find_alias(sample.agent_id)
    if db is None or sample.turn_number is None:
        raise Refused(_("The turn of this sample is no longer stored, so nothing can be added to it."))
    spot = _find_text(db, sample, text, part)
    if spot is None:
        raise Refused(
            _(
                "The selected text does not stand like this in the stored messages of the turn. Select it without line "
                "breaks and formatting."
            )
        )
    seq, path, start = spot
    finding = findings.add_finding(
        db, session_id=sample.session_id, seq=seq, path=path, start=start, end=start + len(text), kind=kind
    )
    return verdicts.decide(
        FindingVerdict.Verdict.ADDED.value,
        scope=FindingVerdict.Scope.VALUE.value,
        value_hash=finding.value_hash,
        rule=PERSON_RULE,
        agent=sample.agent_id,
        place=places.find_place_id(finding),
        by=by,
    )


def _find_text(db, sample, text, part):
    """Where a text stands first: seq of the record, JSON path, and characters before it."""
    for seq in _list_records(db, sample, part):
        document = read_record(db, sample.session_id, seq)
        for path, leaf in _walk(document.value if document else None):
            if (start := leaf.find(text)) >= 0:
                return seq, path, start
    return None


def _list_records(db, sample, part):
    """The records of the turn, those of the selected part first."""
    turn = ConversationTurn.objects.using(db).filter(session_id=sample.session_id, turn_number=sample.turn_number)
    span = turn.values_list("first_seq", "last_seq").first()
    if span is None:
        return []
    events = TranscriptEvent.objects.using(db).filter(session_id=sample.session_id, seq__range=span).order_by("seq")
    rows = list(events.values_list("seq", "kind")[:MOST_RECORDS])
    first = KINDS_OF_PART.get(part, ())
    return [seq for seq, _kind in sorted(rows, key=lambda row: (row[1] not in first, row[0]))]


def _walk(value: Any) -> Iterator[tuple[str, str]]:
    """The texts of a record with their JSON paths.

    Names that a path would have to quote are left out.
    """
    stack = [("$", value)]
    while stack:
        path, part = stack.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, dict):
            stack += [(f"{path}.{name}", item) for name, item in reversed(part.items()) if name.isidentifier()]
        elif isinstance(part, list):
            stack += [(f"{path}[{place}]", part[place]) for place in range(len(part) - 1, -1, -1)]
