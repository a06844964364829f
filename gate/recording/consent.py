"""Turns whose words may not be used: somebody of them has opted out by now, or nobody knows who spoke."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ledger.collectors.records import facts
from ledger.collectors.senders import why_withheld
from ledger.models import ConversationTurn, Session, TranscriptEvent, TranscriptEventIdentity
from ledger.transcripts import origins
from ledger.transcripts.trimming import full_record
from people.configuration import keys as configuration

SETTING = "collector.optedOutSenders"
WITHHELD = TranscriptEvent.Kind.WITHHELD
LOOKED_AT = 500  # turns of a session, back from the last one that is asked about
Spoken = tuple[str, str]  # who said it (`user` or `agent`), and what
Messages = list[dict[str, Any]]


def opted_out() -> frozenset[str]:
    """Who has opted out, today."""
    return frozenset(configuration.get(SETTING))


def withheld(db: str, turns: Collection[ConversationTurn]) -> set[str]:
    """Ids of those of these turns whose words may not be used today; none while nobody has opted out."""
    names = opted_out()
    if not names or not turns:
        return set()
    messages = _messages(db, turns)
    sessions = Session.objects.using(db).in_bulk({turn.session_id for turn in turns})
    theirs = {session.id for session in sessions.values() if origins.is_with(session, names)}
    alone = {session.id for session in sessions.values() if not origins.is_group(session)}
    return {
        turn.id
        for turn in turns
        if turn.session_id in theirs or _is_withheld(turn, messages, names, is_group=turn.session_id not in alone)
    }


def spoken_in(turns: Iterable[ConversationTurn], wanted: Collection[Spoken]) -> dict[Spoken, list[ConversationTurn]]:
    """The turns in which each of these was said."""
    found = defaultdict(list)
    for turn in turns if wanted else ():
        for spoken in (("user", turn.user_message_content), ("agent", turn.agent_message_content)):
            if spoken in wanted:
                found[spoken].append(turn)
    return found


def usable(db: str, turns: Collection[ConversationTurn], contexts: Mapping[str, Messages]) -> Mapping[str, Messages]:
    """What was said before turns of one session, by turn id, without what may not be used today.

    Left out are messages of turns that are withheld, and those of which nobody can tell who said them.
    """
    if not opted_out() or not turns:
        return contexts
    wanted = {(message["role"], message["message"]) for messages in contexts.values() for message in messages}
    last = max(turns, key=lambda turn: turn.first_seq)
    before = ConversationTurn.objects.using(db).filter(session_id=last.session_id, first_seq__lte=last.first_seq)
    said = spoken_in(before.order_by("-first_seq")[: LOOKED_AT + len(turns)], wanted)
    hidden = withheld(db, list({turn.id: turn for some in said.values() for turn in some}.values()))
    open_to_all = {spoken for spoken, some in said.items() if not any(turn.id in hidden for turn in some)}
    return {
        turn_id: [message for message in messages if (message["role"], message["message"]) in open_to_all]
        for turn_id, messages in contexts.items()
    }


def _is_withheld(turn, messages, names, *, is_group):
    kind, record = messages.get((turn.session_id, turn.user_message_id), ("", None))
    if turn.agent_message_id:
        reply_kind, _record = messages.get((turn.session_id, turn.agent_message_id), ("", None))
        if reply_kind == WITHHELD:
            return True
    if kind == WITHHELD or record is None:
        return True
    found = facts(record)
    return why_withheld(found.sender, found.around, names, is_group=is_group) is not None


def _messages(db, turns):
    """Kind and record of the users' and the agent's messages of these turns, by session and record id."""
    ids = {name for turn in turns for name in (turn.user_message_id, turn.agent_message_id) if name}
    sessions = {turn.session_id for turn in turns}
    places = TranscriptEventIdentity.objects.using(db).filter(session_id__in=sessions, event_id__in=ids)
    names = {
        (session_id, seq): event_id for session_id, seq, event_id in places.values_list("session", "seq", "event_id")
    }
    events = TranscriptEvent.objects.using(db).filter(session_id__in=sessions, seq__in={seq for _session, seq in names})
    return {
        (event.session_id, names[event.session_id, event.seq]): (event.kind, full_record(event))
        for event in events.iterator(chunk_size=50)
        if (event.session_id, event.seq) in names
    }
