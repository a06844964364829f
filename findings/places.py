"""Places of findings: the texts that they stand in, read again."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Q

from ledger import consent
from ledger.models import ConversationTurn
from openclaw_web.detectors import spans

from .documents import Document, find_text
from .models import Finding, Source
from .tables import BY_SOURCE
from .transcript_documents import read_records
from .value_hash import compute_value_hash

AROUND = 80  # characters of a text that are shown on each side of a value
LONGEST_SHOWN = 200  # characters of a value that are shown
MASKED = frozenset({spans.KEY, spans.PASSWORD, spans.JWT, spans.PRIVATE_KEY, spans.SECRET, spans.NOT_FULLY_SCANNED})
FIRST_SHOWN, LAST_SHOWN = 4, 2  # characters of a masked value, where it is long enough
MASK = "•" * 6


class Excerpt(NamedTuple):
    """A value with the text before and after it, in bounded lengths."""

    before: str
    value: str
    after: str


def read_document(db: str, source: str, source_id: str) -> Document | None:
    """Read the texts of a record or row again; None when it is gone."""
    return read_documents(db, [(source, source_id)]).get((source, source_id))


def read_documents(db: str, names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Document]:
    """Read the texts of a few records and rows, by source and id.

    Those that are gone have no entry.
    """
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for source, source_id in names:
        ids[source][source_id] = None
    documents = {}
    for source, own in ids.items():
        for document in _read_of_source(db, source, list(own)):
            documents[source, document.source_id] = document
    return documents


def read_value(db: str, finding: Finding) -> str | None:
    """Read the value of a finding from its text; None when that is gone or changed."""
    text = _find_value_text(finding, read_document(db, finding.source, finding.source_id))
    return None if text is None else text[finding.start : finding.end]


def read_excerpts(db: str, findings: Sequence[Finding]) -> list[Excerpt | None]:
    """Read the values of a page's findings with the text around them, in a few queries.

    Keys, passwords and other secrets are masked. None when the text is gone, has changed, or belongs to a turn whose
    words may not be used today.
    """
    withheld = _find_withheld(db, findings)
    readable = [finding for finding in findings if (finding.session_id, finding.turn_number) not in withheld]
    documents = read_documents(db, [(finding.source, finding.source_id) for finding in readable])
    return [
        None
        if (finding.session_id, finding.turn_number) in withheld
        else _cut_excerpt(finding, documents.get((finding.source, finding.source_id)))
        for finding in findings
    ]


def mask(kind: str, value: str) -> str:
    """A value as pages show it; secrets have only their first and last characters."""
    if kind not in MASKED:
        return value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"
    is_long = len(value) >= 3 * (FIRST_SHOWN + LAST_SHOWN)  # of a short one, its ends would tell too much
    return f"{value[:FIRST_SHOWN]}{MASK}{value[-LAST_SHOWN:]}" if is_long else MASK


def find_place_id(finding: Finding) -> str:
    """The text that names the place of a finding in verdicts.

    It is the turn of a record, the record where it has no turn, else the row.
    """
    if finding.source == Source.RECORD and finding.turn_number is not None:
        return f"record:{finding.session_id}/{finding.turn_number}"
    if finding.source == Source.RECORD:
        session_id, _slash, seq = finding.source_id.rpartition("/")
        return f"record:{session_id}/@{seq}"
    return f"{finding.source}:{finding.source_id}"


def _read_of_source(db, source, source_ids):
    if source == Source.RECORD:
        parts = [source_id.rpartition("/") for source_id in source_ids]
        return read_records(db, [(session_id, int(seq)) for session_id, _slash, seq in parts if seq.isdecimal()])
    return BY_SOURCE[source].read_documents(db, source_ids) if source in BY_SOURCE else ()


def _cut_excerpt(finding, document):
    text = _find_value_text(finding, document)
    if text is None:
        return None
    before, after = text[max(0, finding.start - AROUND) : finding.start], text[finding.end : finding.end + AROUND]
    return Excerpt(before, mask(finding.kind, text[finding.start : finding.end]), after)


def _find_value_text(finding, document):
    """The text that a finding stands in; None when it is gone or changed."""
    text = find_text(document.value, finding.path) if document else None
    if text is None or compute_value_hash(finding.kind, text[finding.start : finding.end]) != finding.value_hash:
        return None
    return text


def _find_withheld(db, findings):
    """The turns of findings that are gone, or whose words may not be used today.

    Pairs of session and number.
    """
    pairs = {(row.session_id, row.turn_number) for row in findings}
    turns = {pair for pair in pairs if None not in pair}
    if not turns or not consent.read_opted_out():
        return set()
    chosen = reduce(or_, (Q(session_id=session_id, turn_number=number) for session_id, number in turns))
    rows = ConversationTurn.objects.using(db).filter(chosen).values_list("id", "session_id", "turn_number")
    ids = {turn_id: pair for turn_id, *pair in rows}
    withheld = consent.find_withheld_keys(db, list(ids))
    return turns - {tuple(pair) for turn_id, pair in ids.items() if turn_id not in withheld}
