"""Verdicts on values whose places other rules mark otherwise: they count for the new value as well."""

from collections import defaultdict
from collections.abc import Iterable

from ulid import ULID

from findings import places
from findings.detection import read_detection
from findings.documents import find_text
from findings.finding_store import PERSON_RULE
from findings.models import Finding, Source
from findings.value_hash import compute_value_hash
from openclaw_web.sqlite import write_queue
from people.audit import log as audit

from ..models import FindingValue, FindingVerdict
from . import sample_privacy, summary
from .decisions import DISMISSED, Judgment, read_decisions

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
VALUES = 300  # that are looked up at once
MOST_PLACES = 20  # of a value that are read again: the same rules mark the others alike


def transfer(agent_id: str, db: str, sources: Iterable[tuple[str, str]]) -> None:
    """Give verdicts to what the rules of today mark in the places of judged values.

    `sources` are pairs of source and session (empty for all) whose findings a scan is about to replace;
    settings.FINDING_VERDICTS names this function.
    """
    for source, session_id in sources:
        rows = Finding.objects.using(db).filter(source=source).exclude(rule=PERSON_RULE)
        rows, last = rows.filter(session_id=session_id) if session_id else rows, ""
        names = rows.order_by("value_hash").values_list("value_hash", flat=True).distinct()
        while part := list(names.filter(value_hash__gt=last)[:VALUES]):
            last, decisions = part[-1], read_decisions(part)
            judged = [name for name in part if name in decisions.values or name in decisions.places]
            chosen = [row for name in judged for row in rows.filter(value_hash=name).order_by("id")[:MOST_PLACES]]
            sessions = set()
            for old, new, is_within in _find_successors(db, chosen):
                place = places.find_place_id(old)
                of_place = decisions.places.get(old.value_hash, {}).get(place, {}).get(agent_id)
                for judgment, subject in (
                    (decisions.values.get(old.value_hash), {"scope": Scope.VALUE.value}),
                    (of_place, {"scope": Scope.PLACE.value, "agent_id": agent_id, "place": place}),
                ):
                    # What nobody saw is not harmless: a dismissed value may only lose characters.
                    if judgment and (is_within or judgment.verdict != DISMISSED) and _store(new, judgment, subject):
                        sessions.add(old.session_id)
            sample_privacy.refresh_sessions(agent_id, sessions - {None})


def _find_successors(db, rows):
    """Yield pairs of an old finding and a new one in its place, with whether the new value is within the old one."""
    documents = defaultdict(list)
    for row in rows:
        documents[row.source, row.source_id].append(row)
    for (source, source_id), old_rows in documents.items():
        document = places.read_document(db, source, source_id)
        findings = next(read_detection().find(Source(source), [document]))[0] if document else ()
        for old in old_rows:
            text = find_text(document.value, old.path) if document else None
            value = text[old.start : old.end] if text else ""
            if compute_value_hash(old.kind, value) != old.value_hash:
                continue  # the text is another one today
            overlapping = [
                row for row in findings if row.path == old.path and row.start < old.end and old.start < row.end
            ]
            if not any(row.value_hash == old.value_hash for row in overlapping):
                yield from ((old, row, old.start <= row.start and row.end <= old.end) for row in overlapping)


def _store(new: Finding, judgment: Judgment, subject: dict[str, str]) -> bool:
    """Store a verdict for another value, with the person and time of the first, unless it has one or had one.

    Returns whether it was stored.
    """
    with write_queue.global_transaction():
        if FindingVerdict.objects.filter(value_hash=new.value_hash, **subject).exists():
            return False
        verdict = Verdict.DISMISSED if judgment.verdict == DISMISSED else Verdict.CONFIRMED
        FindingVerdict.objects.create(
            id=str(ULID()), verdict=verdict, value_hash=new.value_hash, rule=new.rule,
            decided_by=judgment.by, decided_at=judgment.at, **subject,
        )  # fmt: skip
        summary.set_states(FindingValue.objects.filter(value_hash=new.value_hash), read_decisions([new.value_hash]))
        names = {"object_type": "finding", "object_id": new.value_hash, "agent_id": subject.get("agent_id", "")}
        audit.record("", "finding_transferred", **names, verdict=str(verdict), scope=subject["scope"])
    return True
