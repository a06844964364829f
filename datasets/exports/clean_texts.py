"""Texts of samples in which the rules of today find nothing, by their hashes: exports do not search them again.

The job that stores exchanges searches the very texts that an export searches, as it assembles them. A text that differs
in one character, or that other rules searched, has no hash here and is searched.
"""

import hashlib
from contextlib import suppress
from typing import Any

from findings.detection import Detection, read_version
from findings.value_hash import compute_value_hash
from openclaw_web.detectors.detect import find_spans
from openclaw_web.errors import Refused

from ..exchange_store import StoredRecord, read_records
from ..models import SampleExchange
from ..redaction import Redactor, Rules, redact_sample
from ..sample_texts import read_stored
from .branches import build_message, redact_message
from .source import STORED

COLUMNS = ("exchange__clean_rules", "exchange__clean_texts")  # of a sample
SIZE = 16  # bytes of a hash
REMEMBERED = 20_000  # hashes, twice: those of the samples that are read ahead, and many more


class CleanTexts:
    """The hashes of the latest samples that an export has read."""

    def __init__(self) -> None:
        self.rules = read_version()
        self._latest: set[bytes] = set()
        self._before: set[bytes] = set()

    def take(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row of a sample without COLUMNS, whose hashes are remembered where they follow the rules of today."""
        rules, hashes = (row.pop(name) for name in COLUMNS)
        if rules == self.rules:
            self._latest.update(hashes[start : start + SIZE] for start in range(0, len(hashes), SIZE))
            if len(self._latest) > REMEMBERED:
                self._latest, self._before = set(), self._latest
        return row

    def __contains__(self, text: str) -> bool:
        name = _hash_text(text)
        return name in self._latest or name in self._before


def find_clean_texts(exchange: SampleExchange, detection: Detection) -> bytes:
    """The hashes of the texts of an exchange, and of its sample, in which nothing is found."""
    clean: dict[bytes, None] = {}

    def find(text):
        if not (spans := find_spans(text, detection.custom)):
            clean[_hash_text(text)] = None
        return spans

    redactor, sample = Redactor(Rules(find, compute_value_hash)), exchange.sample
    row = {name: getattr(sample, name) for name in STORED}
    redact_sample(redactor, read_stored(row), row)
    records: list[StoredRecord] = []
    with suppress(Refused):  # a damaged exchange is left out of exports as well
        records = read_records(exchange)
    for record in records:
        message = build_message(record.record, record.problem, record.kind, None, None, sample.session_id)
        redact_message(message, redactor, sample.agent_id, sample.session_id)
    return b"".join(clean)


def _hash_text(text):
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:SIZE]
