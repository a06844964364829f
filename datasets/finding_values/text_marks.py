"""Marks the findings of a sample in the texts that its page shows."""

import re
from collections import Counter
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from django.utils.safestring import SafeString

from findings.detection import read_detection
from findings.value_hash import compute_value_hash
from openclaw_web.detectors import detect
from openclaw_web.pages import glyphs, states

from ..models import DatasetSample
from . import words
from .decisions import CONFIRMED, DISMISSED, DecisionCache
from .sample_privacy import find_place, read_added

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
        self._added = read_added(sample.agent_id, sample.session_id)
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
