"""Opting out: which turns and messages may be used today.

It is asked each time words are shown, stored or sent. While somebody has opted out, their words may not be used, and
neither may those of an unknown sender. Records that are read anew are checked one by one, in
transcripts.opt_out_filter. Lines of files lead to turns: guardian.detail.opted_out_lines.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from people.configuration import setting_values as configuration

from .collectors.records import read_facts
from .collectors.senders import find_withheld_reason
from .models import ConversationTurn, Session, TranscriptEvent
from .transcripts import origins
from .transcripts.trimming import full_record

SETTING = "collector.optedOutSenders"
WITHHELD = TranscriptEvent.Kind.WITHHELD
LOOKED_AT = 500  # turns of a session, back from the last one in question
CHUNK = 200  # turns that are checked together
Key = TypeVar("Key", str, str | None)
Messages = list[dict[str, Any]]


def read_opted_out() -> frozenset[str]:
    """The names of those who have opted out today."""
    return frozenset(configuration.get_texts(SETTING))


def find_withheld(db: str, turns: Collection[ConversationTurn]) -> set[str]:
    """Ids of the turns whose words may not be used today.

    It is empty while nobody has opted out.
    """
    names = read_opted_out() if turns else frozenset()
    if not names:
        return set()
    messages = _read_messages(db, turns)
    sessions = Session.objects.using(db).in_bulk({turn.session_id for turn in turns})
    opted_out_sessions = {session.id for session in sessions.values() if origins.is_direct_with(session, names)}
    ungrouped_sessions = {session.id for session in sessions.values() if not origins.is_group(session)}
    return {
        turn.id
        for turn in turns
        if turn.session_id in opted_out_sessions
        or _is_withheld(turn, messages, names, is_group=turn.session_id not in ungrouped_sessions)
    }


def find_withheld_keys(db: str, turn_ids: Iterable[Key]) -> set[Key]:
    """The given ids that lead to no turn whose words may be used today.

    It is empty while nobody has opted out. An id without a turn, and None, is among them: nobody can tell whose words
    they are.
    """
    keys, usable = set(turn_ids), set[str]()
    if not keys or not read_opted_out():
        return set()
    ids = sorted(key for key in keys if key)
    for start in range(0, len(ids), CHUNK):
        turns = ConversationTurn.objects.using(db).in_bulk(ids[start : start + CHUNK])
        usable |= turns.keys() - find_withheld(db, turns.values())
    return keys - usable


def filter_messages(db: str, messages: Mapping[Key, Messages]) -> Mapping[Key, Messages]:
    """The messages that may be used today, by the turn that they belong to or precede.

    All of them while nobody has opted out. Left out are messages of turns that are withheld, and those that no turn of
    the session up to that one has. A key that leads to no usable turn has no entry.
    """
    if not messages or not read_opted_out():
        return messages
    turns = ConversationTurn.objects.using(db).in_bulk([key for key in messages if key])
    by_session = defaultdict(list)
    for turn in turns.values():
        by_session[turn.session_id].append(turn)
    usable: dict[Key, Messages] = {}
    for session_turns in by_session.values():
        usable |= _filter_session_messages(db, session_turns, messages)
    return usable


def _filter_session_messages(db, turns, messages):
    """The usable messages of turns of one session."""
    spoken_messages = {_get_spoken(message) for turn in turns for message in messages[turn.id]}
    last = max(turn.first_seq for turn in turns)
    before = ConversationTurn.objects.using(db).filter(session_id=turns[0].session_id, first_seq__lte=last)
    speakers = defaultdict(list)
    for turn in before.order_by("-first_seq")[: LOOKED_AT + len(turns)] if spoken_messages else ():
        for spoken in (("user", turn.user_message_content), ("agent", turn.agent_message_content)):
            if spoken in spoken_messages:
                speakers[spoken].append(turn)
    involved = {turn.id: turn for group in (turns, *speakers.values()) for turn in group}
    hidden = find_withheld(db, involved.values())

    def may_use(message, turn):
        earlier_speakers = [
            speaker for speaker in speakers[_get_spoken(message)] if speaker.first_seq <= turn.first_seq
        ]
        return bool(earlier_speakers) and hidden.isdisjoint(speaker.id for speaker in earlier_speakers)

    return {
        turn.id: [message for message in messages[turn.id] if may_use(message, turn)]
        for turn in turns
        if turn.id not in hidden
    }


def _get_spoken(message):
    """The speaker of a message, `user` or `agent`, and its text."""
    return message["role"], message["message"]


def _is_withheld(turn, messages, names, *, is_group):
    kind, record = messages.get((turn.session_id, turn.user_message_id), ("", None))
    if turn.agent_message_id:
        reply_kind, _record = messages.get((turn.session_id, turn.agent_message_id), ("", None))
        if reply_kind == WITHHELD:
            return True
    if kind == WITHHELD or record is None:
        return True
    record_facts = read_facts(record)
    return find_withheld_reason(record_facts.sender, record_facts.envelope, names, is_group=is_group) is not None


def _read_messages(db, turns):
    """Kind and record of the turns' messages, by session and record id."""
    ids = {name for turn in turns for name in (turn.user_message_id, turn.agent_message_id) if name}
    sessions = {turn.session_id for turn in turns}
    events = TranscriptEvent.objects.using(db).filter(session_id__in=sessions, event_id__in=ids)
    return {
        (event.session_id, event.event_id): (event.kind, full_record(event)) for event in events.iterator(chunk_size=50)
    }
