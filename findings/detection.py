"""The detectors with the rules of today, applied to documents."""

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext

from openclaw_web.clock import now_ms
from openclaw_web.detectors import detect, spans
from openclaw_web.detectors.custom_patterns import (
    NAMES_OF_ASSIGNMENTS,
    CustomPatterns,
    UnusablePatternError,
    compile_patterns,
)
from openclaw_web.detectors.json_layers import BREAK, KEY_BREAK
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from .documents import Document, find_text, list_leaves
from .models import Finding, Source
from .value_hash import compute_value_hash, read_key_mark

PATTERNS = "datasetCollection.privacyFiltering.redactPatterns"  # the setting with patterns that operators added
MOST_IN_REQUEST = 256_000  # characters that are searched while somebody waits
# Characters of documents that are searched as one text: longer ones are too long for the set of all patterns
# (scan_text.MAX_SET_BYTES), which tells most of them at once that nothing is found.
JOINED_SIZE = 12_000
# Between two texts that are searched together: wider than the detectors look around for words.
GAP = f"{BREAK}{chr(10) * 80}{BREAK}"
MOST_IN_DOCUMENT = 1_000  # findings of one record or row
LONGEST_PATH = 1_000  # characters: the keys in it are as long as whoever wrote the record likes


@dataclass(frozen=True, slots=True)
class Detection:
    """Rules for a scan: `version` differs when detectors, operators' patterns or SECRET_KEY do."""

    version: int
    custom: CustomPatterns | None

    def find(self, source: Source, documents: Sequence[Document]) -> Iterator[tuple[list[Finding], int]]:
        """Find what stands in each document: rows to be stored, and how many more there are.

        Of one document there are at most 1,000 rows.
        """
        for joined in _join_short(documents):
            suspects = self._find_suspects(joined)
            for document in joined:
                yield self._find_exactly(source, document) if document.source_id in suspects else ([], 0)

    def _find_suspects(self, documents):
        """The ids of documents with a finding when all are searched as one text.

        Most records are short and hold nothing: a search of each alone takes ten times as long.
        """
        if len(documents) == 1:
            return {documents[0].source_id}
        plain, escaped = _JoinedTexts(), _JoinedTexts()  # only texts with backslashes may have JSON in JSON
        for document in documents:
            for name, leaf in list_leaves(document.value):
                (escaped if "\\" in leaf else plain).add(document.source_id, f"{name}{KEY_BREAK}{leaf}{GAP}")
        return plain.find_touched(self.custom) | escaped.find_touched(self.custom)

    def _find_exactly(self, source, document):
        spans_by_path = detect.find_spans_in_value(document.value, self.custom)
        texts: dict[str, str | None] = {}
        rows = []
        for path, span in spans_by_path[:MOST_IN_DOCUMENT]:
            text = texts[path] if path in texts else texts.setdefault(path, find_text(document.value, path))
            if text is not None and len(path) <= LONGEST_PATH:
                rows.append(_build_row(source, document, path, span, text[span.start : span.end]))
        return rows, len(spans_by_path) - len(rows)


class _JoinedTexts:
    """Texts of several documents, joined, with the document of each."""

    def __init__(self):
        self.parts, self.starts, self.owners, self.place = [], [], [], 1

    def add(self, owner, text):
        self.parts.append(text)
        self.starts.append(self.place)
        self.owners.append(owner)
        self.place += len(text)

    def find_touched(self, custom):
        """The documents in whose texts something is found."""
        touched = set()
        for span in detect.find_spans(f"{BREAK}{''.join(self.parts)}", custom) if self.parts else ():
            first, last = bisect_right(self.starts, span.start) - 1, bisect_right(self.starts, span.end - 1)
            touched.update(self.owners[max(0, first) : last])
        return touched


def _join_short(documents):
    """Yield lists of consecutive documents of about JOINED_SIZE characters together."""
    joined: list[Document] = []
    size = 0
    for document in documents:
        if document.size >= JOINED_SIZE and joined:
            yield joined
            joined, size = [], 0
        joined.append(document)
        size += document.size
        if size >= JOINED_SIZE:
            yield joined
            joined, size = [], 0
    if joined:
        yield joined


def read_detection() -> Detection:
    """Read the rules that are in force now.

    Raises Refused when a pattern of an operator cannot be used.
    """
    patterns = _read_patterns()
    return Detection(_compute_version(patterns), _compile(patterns))


def read_version() -> int:
    """Read the version of the rules that are in force now."""
    return _compute_version(_read_patterns())


def _read_patterns():
    """The patterns that an operator added: the names of assignments are in force anyway."""
    return tuple(text for text in configuration.get_texts(PATTERNS) if text not in NAMES_OF_ASSIGNMENTS)


def _compute_version(patterns):
    # With another SECRET_KEY all hashes differ: then everything is scanned again, as after a change of the rules.
    checksum = zlib.crc32("\n".join((read_key_mark(), *patterns)).encode(errors="surrogatepass"))
    return (spans.RULES << 32) | checksum


@lru_cache(maxsize=4)
def _compile(patterns):
    try:
        return compile_patterns(patterns) if patterns else None
    except UnusablePatternError as problem:
        raise Refused(gettext(problem.sentence) % problem.values) from problem


def _build_row(source, document, path, span, text):
    return Finding(
        source=source.value,
        source_id=document.source_id,
        session_id=document.session_id,
        turn_number=document.turn_number,
        path=path,
        start=span.start,
        end=span.end,
        kind=span.kind,
        rule=span.rule,
        confidence=span.confidence,
        value_hash=compute_value_hash(span.kind, text),
        found_at=now_ms(),
    )
