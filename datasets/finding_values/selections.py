"""Findings that reviewers add: a selected text, sought in the records of its turn."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from agents import databases
from findings import places
from findings import services as findings
from findings.finding_store import PERSON_RULE
from findings.transcript_documents import read_record
from ledger.models import ConversationTurn, TranscriptEvent
from openclaw_web.errors import Refused

from ..models import DatasetSample, FindingVerdict
from . import verdicts

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
