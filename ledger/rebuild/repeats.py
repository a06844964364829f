"""Repeated records: each belongs to one session, and is marked in the other ones.

In this way it counts once in every sum. A record is the same when its id, its time, its usage and its content agree. It
belongs to the first of the sessions that have it (families); a mark that leads to a session which retention removed
stays, because that session's sums do. Marks are written for one session at a time together with all that follows from
them, so that a process killed at any point leaves work that the next run does.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

from ..models import Session, TranscriptEvent
from ..transcripts import removal, reported_turns, unnamed_records
from ..transcripts.trimming import untrim
from . import sums
from .families import ALONE, Relatives, find_relatives, iterate_members

BATCH = 500
# Records without an id are called @<offset>, which names another record in a copy.
OF_MEMBERS = f"session_id IN (SELECT value FROM {dialect.json_array('members')})"  # noqa: S608 - constants
SHARED = f"""
    SELECT event_id, created_at, session_id, seq FROM transcript_events WHERE {OF_MEMBERS} AND event_id IN (
        SELECT event_id FROM transcript_events WHERE {OF_MEMBERS} AND NOT event_id BETWEEN '@' AND 'A'
        GROUP BY event_id HAVING COUNT(*) > 1
    ) ORDER BY event_id, created_at
"""  # noqa: S608 - constants
MARK = "UPDATE transcript_events SET repeat_of = %s WHERE session_id = %s AND seq = %s"
NUMBERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "total_tokens", "cost_usd")

Place = tuple[str, int]  # session and seq
Marks = dict[Place, str]  # the session that has the record


def mark_repeats(db: str, *, is_forced: bool = False) -> list[str]:
    """Mark the repeated records of an agent's sessions, and update sums whose marks changed.

    Returns the ids of the changed sessions. Groups that were compared before and did not change are passed over, unless
    `is_forced`.
    """
    changed = []
    for group in _find_all_marked(db) if is_forced else find_relatives(db):
        if is_forced or not group.is_compared:
            changed += _mark_group(db, group, is_forced=is_forced)
    return changed


def find_wrongly_marked(db: str) -> Iterator[str]:
    """The sessions whose marks differ from those that a comparison of all records gives."""
    for group in _find_all_marked(db):
        stored, expected = _compute_marks(db, group, is_forced=True)
        yield from sorted({session_id for session_id, _seq in _find_differing(stored, expected)})


def _find_all_marked(db) -> Iterator[Relatives]:
    """All groups of relatives, and each other session that has marks alone."""
    related = set[str]()
    for group in find_relatives(db):
        related.update(member.session_id for member in group.members)
        yield group
    marked = TranscriptEvent.objects.using(db).filter(repeat_of__isnull=False).order_by()
    others = sorted(set(marked.values_list("session_id", flat=True).distinct()) - related)
    for start in range(0, len(others), BATCH):
        rows = Session.objects.using(db).filter(id__in=others[start : start + BATCH])
        yield from (Relatives([member]) for member in iterate_members(rows))


def _mark_group(db, group: Relatives, *, is_forced):
    stored, expected = _compute_marks(db, group, is_forced=is_forced)
    places = defaultdict(list)
    for session_id, seq in _find_differing(stored, expected):
        places[session_id].append(seq)
    for session_id, seqs in sorted(places.items()):
        with transaction.atomic(using=db):
            statements.run_many(db, MARK, [(expected.get((session_id, seq)), session_id, seq) for seq in seqs])
            sums.rebuild_session(db, session_id)
    names = [member.session_id for member in group.members if member.parents]
    for start in range(0, len(names), BATCH):
        Session.objects.using(db).filter(id__in=names[start : start + BATCH]).update(repeats_mark=group.mark)
    return sorted(places)


def _find_differing(stored: Marks, expected: Marks) -> list[Place]:
    return [place for place in stored.keys() | expected.keys() if stored.get(place) != expected.get(place)]


def _compute_marks(db, group: Relatives, *, is_forced):
    """The marks that records of these sessions have, and those they should have."""
    names = [member.session_id for member in group.members]
    stored = _read_marks(db, names)
    removed = removal.find_removed_ids(db, sorted({*stored.values()}))
    lasting = {place: source for place, source in stored.items() if source in removed}
    if group.mark == ALONE:
        return stored, lasting
    order = {name: place for place, name in enumerate(names)}
    expected, waiting = dict(lasting), []
    for records in _find_shared(db, names):
        records.sort(key=lambda place: order[place[0]])
        source = lasting.get(records[0], records[0][0])
        if not is_forced and all(stored.get(place) == source for place in records[1:]):
            expected |= dict.fromkeys(records[1:], source)
        else:
            waiting.append(records)
    for start in range(0, len(waiting), BATCH):
        expected |= _compare_groups(db, waiting[start : start + BATCH], lasting)
    return stored, _mark_reported(db, names, expected) | expected


def _mark_reported(db, names, marks: Marks) -> Marks:
    """The records of the plugin's turns that a transcript among these sessions has, which does not repeat them."""
    tellers = [name for name in names if name.startswith(reported_turns.PREFIX)]
    expected: Marks = {}
    query = reported_turns.JOINED.format(where=reported_turns.OF_SESSIONS), [encode(tellers), encode(names)]
    rows = [row for row in statements.read_rows(db, *query) if row[5:] not in marks] if tellers else []
    for _id, teller, first, last, _turn, source, _seq in reported_turns.choose_joins(rows):
        for place in (first, last):
            expected.setdefault((teller, place), source)
    return expected


def _read_marks(db, names) -> Marks:
    marks: Marks = {}
    for start in range(0, len(names), BATCH):
        rows = TranscriptEvent.objects.using(db).filter(session_id__in=names[start : start + BATCH])
        rows = rows.filter(repeat_of__isnull=False).values_list("session_id", "seq", "repeat_of")
        marks |= {(session_id, seq): source for session_id, seq, source in rows.iterator()}
    return marks


def _find_shared(db, names) -> Iterator[list[Place]]:
    """The records with one id and time that several sessions have."""
    rows = statements.iterate_rows(db, SHARED, [encode(names)] * 2)
    for _same, records in groupby(rows, itemgetter(0, 1)):
        places = [(session_id, seq) for _id, _time, session_id, seq in records]
        if len(places) > 1:
            yield places


def _compare_groups(db, groups: list[list[Place]], lasting: Marks) -> Marks:
    """The marks of records by their content; each group is in the order of its sessions."""
    contents = _read_contents(db, {place for records in groups for place in records})
    marks: Marks = {}
    for records in groups:
        sources: dict[Any, str] = {}
        for place in records:
            content = contents.get(place)
            if content is None:
                continue
            if content in sources:
                marks[place] = sources[content]
            else:
                sources[content] = lasting.get(place, place[0])
    return marks


def _read_contents(db, places: Iterable[Place]) -> dict[Place, Any]:
    by_session = defaultdict(list)
    for session_id, seq in places:
        by_session[session_id].append(seq)
    contents = {}
    for session_id, seqs in by_session.items():
        for start in range(0, len(seqs), BATCH):
            rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__in=seqs[start : start + BATCH])
            contents |= {(session_id, event.seq): _get_content(event) for event in rows.iterator(chunk_size=50)}
    return contents


def _get_content(event: TranscriptEvent):
    """The values that two equal records have in common; None for a record like no other."""
    if event.kind == TranscriptEvent.Kind.WITHHELD:
        return None
    try:
        record = untrim(event.event_json, event.full_zstd)
        words_said = unnamed_records.find_words(event.kind, record, event.trim_json)
    except (Refused, ValueError, LookupError, TypeError, AttributeError):  # a damaged row
        return None
    return (event.model, event.tool_name, *(getattr(event, name) for name in NUMBERS), words_said)
