"""Writes that come from what somebody said: for whoever has to decide about words that may not be kept any more."""

from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from agents.models import Agent
from ledger.collectors import senders
from ledger.collectors.records import facts
from ledger.models import ConversationTurn, TranscriptEvent, TranscriptEventIdentity
from ledger.transcripts.trimming import full_record

from ..models import WriteGuardianAudit

CHUNK = 200


def audits_of(agent: Agent, sender: str) -> QuerySet[WriteGuardianAudit]:
    """The writes from turns of a sender, named as in the setting of opted-out senders: an id, a number or a name."""
    audits = WriteGuardianAudit.objects.using(agent.db)
    named = sorted(set(audits.exclude(turn_id=None).values_list("turn_id", flat=True)))
    found: list[str] = []
    for start in range(0, len(named), CHUNK):
        turns = ConversationTurn.objects.using(agent.db).filter(id__in=named[start : start + CHUNK])
        found += _turns_of(agent.db, list(turns), frozenset([sender]))
    ids = [row_id for part in _parts(found) for row_id in _of_turns(agent.db, part)]
    return audits.filter(id__in=ids)


def of_sessions(db: str, session_ids: Collection[str]) -> Iterator[str]:
    """Ids of the writes of sessions."""
    rows = WriteGuardianAudit.objects.using(db).filter(session_id__in=session_ids)
    yield from rows.order_by("created_at", "id").values_list("id", flat=True).iterator(chunk_size=CHUNK)


def of_messages(db: str, session_id: str, record_ids: Collection[str]) -> Iterator[str]:
    """Ids of writes from turns of a session that these records began."""
    for part in _parts([f"{session_id}:{record_id}" for record_id in record_ids]):
        yield from _of_turns(db, part)


def _parts(values):
    yield from (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def _of_turns(db, turn_ids):
    rows = WriteGuardianAudit.objects.using(db).filter(turn_id__in=turn_ids)
    return rows.order_by("created_at", "id").values_list("id", flat=True)


def _turns_of(db, turns, names):
    """Those of these turns whose message is of one of these people."""
    by_name = [turn.id for turn in turns if turn.user_from and senders.is_of([turn.user_from], names)]
    events = _messages(db, turns)
    spoken = [turn.id for turn in turns if _is_of(events.get((turn.session_id, turn.user_message_id)), names)]
    return sorted({*by_name, *spoken})


def _is_of(event, names):
    if event is None or event.kind == TranscriptEvent.Kind.WITHHELD:
        return False
    return senders.is_of(senders.sender_ids(facts(full_record(event)).sender), names)


def _messages(db, turns):
    """The messages that began these turns, by session and record."""
    ids = {turn.user_message_id for turn in turns if turn.user_message_id}
    sessions = {turn.session_id for turn in turns}
    places = TranscriptEventIdentity.objects.using(db).filter(session_id__in=sessions, event_id__in=ids)
    names = {(one[0], one[1]): one[2] for one in places.values_list("session", "seq", "event_id")}
    rows = TranscriptEvent.objects.using(db).filter(session_id__in=sessions, seq__in={seq for _id, seq in names})
    return {
        (row.session_id, names[row.session_id, row.seq]): row
        for row in rows.iterator(chunk_size=CHUNK)
        if (row.session_id, row.seq) in names
    }
