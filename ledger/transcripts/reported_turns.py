"""Sessions and turns that the Reflection plugin reports: as records, of which everything else follows.

A conversation of the plugin is a session of its own. Where a transcript has the same turn, the plugin's records repeat
those of the transcript (rebuild.repeats): its words stand, and the plugin's are in no sum, sample or export.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import orjson
from django.db.models import Q

from agents import holdings
from agents.models import Agent
from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

from .. import consent, index_rows, rules
from ..collectors.jsonl import Line
from ..collectors.lineage import KEY, build_keys, decode_parents
from ..collectors.records import read_facts
from ..collectors.senders import find_withheld_reason
from ..collectors.session_index import IndexEntry, parse_session_key
from ..models import ConversationTurn, Session, TranscriptEvent
from . import contexts, origins
from .transcript_store import Transcript, store_transcript
from .trimming import CAP

PREFIX = "reflection-"  # of the ids of these sessions: the plugin's own ids may be those of transcripts
REPLY = ":agent"  # after the id of a turn: the id of its reply
SOURCE = "reflection.db"
# Names of a sender in the metadata of a message, by what OpenClaw calls them.
PEOPLE = {name: name for name in ("senderName", "senderUsername", "senderId", "sender")} | {"label": "from"}
EARLIER_MS, LATER_MS = 3_600_000, 600_000  # how long before and after the plugin's turn that of a transcript begins
MOST_AT_ONCE = 500
NEAR_MS = 120_000  # between a turn of a transcript and one that has the same words, and no more in common
# The turns of transcripts that the plugin's turns may be, the nearest first: with the same question (the plugin's or
# the transcript's may be cut off) and id of the message on its channel, or with the same question and answer and time.
JOINED = f"""
    SELECT told.id, told.session_id, told.first_seq, told.last_seq, turns.id, turns.session_id, turns.first_seq
    FROM conversation_turns told
    JOIN transcript_events ids ON ids.session_id = told.session_id AND ids.event_id = told.user_message_id
    CROSS JOIN conversation_turns turns
        ON turns.created_at BETWEEN told.created_at - {EARLIER_MS} AND told.created_at + {LATER_MS}
    WHERE told.session_id LIKE '{PREFIX}%%' AND turns.session_id NOT LIKE '{PREFIX}%%' AND {{where}} AND (
        ((ids.message_idempotency_key = turns.user_message_id
            OR INSTR(turns.user_metadata, '"message_id":"' || ids.message_idempotency_key || '"') > 0)
            AND (INSTR(TRIM(turns.user_message_content), TRIM(told.user_message_content)) = 1
                OR INSTR(TRIM(told.user_message_content), TRIM(turns.user_message_content)) = 1))
        OR (turns.agent_message_content <> ''
            AND told.created_at BETWEEN turns.created_at - {NEAR_MS}
                AND turns.created_at + COALESCE(turns.latency_ms, 0) + {NEAR_MS}
            AND TRIM(turns.user_message_content) = TRIM(told.user_message_content)
            AND TRIM(turns.agent_message_content) = TRIM(told.agent_message_content)))
    ORDER BY ABS(turns.created_at - told.created_at), told.id, turns.id
"""  # noqa: S608 - constants
OF_SESSIONS = f"""told.session_id IN (SELECT value FROM {dialect.json_array("tellers")})
    AND +turns.session_id IN (SELECT value FROM {dialect.json_array("members")})"""  # noqa: S608 - + for the index of times
OF_REPEATED = f"""told.session_id IN (SELECT value FROM {dialect.json_array("tellers")})
    AND +turns.session_id = told.repeat_of"""  # noqa: S608 - constants


@dataclass(slots=True)
class UpsertResult:
    """The ids of new turns, of those that were there already, and of those that were there with other words.

    `withheld` counts turns of people who opted out, and of sessions that were removed here.
    """

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    withheld: int = 0


def build_session_id(key: str) -> str:
    """The id of the session that has the plugin's turns of a conversation."""
    return PREFIX + hashlib.sha256(key.encode()).hexdigest()[:32]


def list_spellings(agent_name: str, key: str) -> list[str]:
    """OpenClaw's keys for a key of the plugin.

    The plugin writes `channel:irc:group:#lab` for `agent:main:irc:group:#lab`.
    """
    kind, _colon, rest = key.partition(":")
    return [f"agent:{agent_name}:{rest}"] if kind == "channel" and rest else []


def upsert_sessions(agent: Agent, sessions: Iterable[Any]) -> list[str]:
    """Store sessions, or update what is known of them; return the keys of those that were not removed here.

    They have the columns of the specification's `sessions`; `id` is the plugin's key, `metadata` an object or None.
    """
    names = ("id", "created_at", "last_activity_at", "channel_id", "conversation_target", "account_id", "metadata")
    return [session.id for session in sessions if _upsert_session(agent, *(getattr(session, name) for name in names))]


def _upsert_session(agent, key, created_at, last_at, channel=None, target=None, account=None, metadata=None):
    """Store a session; False: it was removed here."""
    session_id = build_session_id(key)
    origin, key_channel, key_target = parse_session_key(key)
    keys = [key, *list_spellings(agent.home_name, key), (metadata or {}).get("sessionKey")]
    # Where an index has it: it names the person of a direct conversation.
    origin_metadata = {"origin": metadata["origin"]} if metadata and "origin" in metadata else {}
    entry = IndexEntry(
        session_key=key,
        session_id=session_id,
        origin=origin,
        channel=channel or key_channel or "unknown",
        target=target or key_target,
        account=account,
        updated_at=last_at,
        metadata={"reported": metadata, **origin_metadata} if metadata else {},
        parents=[key, *(name for each in keys for name in build_keys(each))],
    )
    if session_id in holdings.read_removed(agent.agent_id) or not index_rows.store_index(agent.db, [entry]):
        return False
    # Later it is the time of the first record.
    Session.objects.using(agent.db).filter(id=session_id, record_count=0).update(created_at=created_at)
    return True


def store_turns(agent: Agent, turns: Iterable[Any], *, all_or_none: bool = False) -> UpsertResult:
    """Store turns with the messages before them, those of a session in the order of their numbers.

    They have the columns of the specification's `conversation_turns`, and `context`. Known turns stay as they are; with
    `all_or_none`, no turn is stored when one has other words now. Contexts are left out while anybody has opted out:
    nobody can tell whose words they are.
    """
    db, result, names = agent.db, UpsertResult(), consent.read_opted_out()
    ordered = sorted(turns, key=lambda turn: (turn.session_id, turn.turn_number))
    groups = groupby(ordered, key=lambda turn: turn.session_id)
    new = {key: list(_find_new(agent, key, list(group), names, result)) for key, group in groups}
    if all_or_none and result.changed:
        return result
    for key, new_turns in new.items():
        session_id, numbers = build_session_id(key), {turn.id: turn.turn_number for turn in new_turns}
        transcript = Transcript(session_id, SOURCE, clock.now_ms(), goes_on=True, turn_numbers=numbers)
        records = (record for turn in new_turns for record in _build_records(turn))
        lines = (Line(place, place, orjson.dumps(record), record) for place, record in enumerate(records))
        stored = store_transcript(db, transcript, lines)
        holdings.note_holding(agent.agent_id, session_id, stored.held, added=stored.added)
        session = Session.objects.using(db).get(id=session_id)
        if names and any(parse_session_key(name)[0] == "direct" for name in list_keys(session)):
            _have_made_again(db, [session_id])  # the next import reads in the index whose conversation it is
    given = {_build_turn_id(turn): [message.dict() for message in turn.context] for turn in ordered if turn.context}
    for row in ConversationTurn.objects.using(db).filter(id__in={} if names else given):
        contexts.store_contexts(db, [row], len(given[row.id]), given=given)
    return result


def list_keys(session: Session) -> list[str]:
    """OpenClaw's keys of the conversation of a session of the plugin; none for other sessions."""
    names = decode_parents(session.parents) if session.id.startswith(PREFIX) else ()
    return [name.removeprefix(KEY) for name in names if name.startswith(KEY)]


def look_again(db: str) -> None:
    """Have the sessions made again whose conversations have withheld records: the plugin does not tell them either."""
    others = Session.objects.using(db).filter(withheld_count__gt=0).exclude(id__startswith=PREFIX)
    withholding = {name for names in others.values_list("id", "session_key") for name in names}
    reported = Session.objects.using(db).filter(id__startswith=PREFIX).only("id", "parents")
    named = ((session.id, [*decode_parents(session.parents), *list_keys(session)]) for session in reported)
    _have_made_again(db, [session_id for session_id, names in named if not withholding.isdisjoint(names)])


def _have_made_again(db, session_ids):
    for batch in in_batches(session_ids, MOST_AT_ONCE):
        Session.objects.using(db).filter(id__in=batch).update(rules=rules.AGAIN)


def find_hidden(db: str, session_id: str) -> frozenset[str]:
    """The records of a stored session whose words a transcript may withhold, while somebody has opted out.

    The plugin and OpenClaw may call a person by different names. So every turn near a withheld record of its
    conversation is hidden, and one of a transcript that is not stored any more.
    """
    session = Session.objects.using(db).filter(id=session_id).first()
    if session is None or not session_id.startswith(PREFIX):
        return frozenset()
    moments = _read_withheld_moments(db, session)
    rows = ConversationTurn.objects.using(db).filter(session_id=session_id)
    turns = rows.values_list("user_message_id", "created_at", "repeat_of")
    stored = Session.objects.using(db).in_bulk({source for _id, _at, source in turns if source})
    hidden = [name for name, at, source in turns if _is_near(moments, at) or (source and source not in stored)]
    return frozenset(record for name in hidden for record in (name, f"{name}{REPLY}"))


def _read_withheld_moments(db, session):
    """The times of withheld records in the transcripts of a conversation, in order."""
    names, keys = decode_parents(session.parents), list_keys(session)
    relatives = Session.objects.using(db).filter(Q(id__in=names) | Q(session_key__in=keys), withheld_count__gt=0)
    events = TranscriptEvent.objects.using(db).filter(session__in=relatives.exclude(id=session.id))
    return sorted(events.filter(kind=consent.WITHHELD).values_list("created_at", flat=True))


def _is_near(moments, at):
    return bisect_left(moments, at - EARLIER_MS) < bisect_right(moments, at + LATER_MS)


def _build_turn_id(turn):
    return f"{build_session_id(turn.session_id)}:{turn.id}"


def _find_new(agent, key, turns, names, result):
    """Yield the turns of a session that are to be stored, and count the others."""
    rows = Session.objects.using(agent.db).filter(id=build_session_id(key))
    if not rows.exists() and not _upsert_session(agent, key, turns[0].created_at, turns[-1].created_at):
        result.withheld += len(turns)
        return
    session = rows.get()
    is_direct, is_group = origins.is_direct_with(session, names), origins.is_group(session)
    withheld_at = _read_withheld_moments(agent.db, session) if names else []
    stored = ConversationTurn.objects.using(agent.db).in_bulk([_build_turn_id(turn) for turn in turns])
    seen = set[str]()
    for turn in turns:
        user, *answer = (read_facts(record) for record in _build_records(turn))
        row = stored.get(_build_turn_id(turn))
        is_answered = bool(answer) and session.leaf_record_id == turn.id  # a stored question, of which it is the answer
        if row and not (is_answered and row.user_message_content == user.text[:CAP]):
            words = [row.user_message_content, *([row.agent_message_content] if answer else [])]
            is_same = not words[0] or words == [facts.text[:CAP] for facts in (user, *answer)]  # or they are withheld
            (result.known if is_same else result.changed).append(turn.id)
        elif names and (
            is_direct
            or _is_near(withheld_at, turn.created_at)
            or find_withheld_reason(user.sender, user.envelope, names, is_group=is_group)
        ):
            result.withheld += 1
        elif turn.id not in seen:
            seen.add(turn.id)
            result.new.append(turn.id)
            yield turn


def _build_records(turn):
    """The records of a turn: the question, and the answer where there is one."""
    records = []
    for record_id, role, side in ((turn.id, "user", "user"), (turn.id + REPLY, "assistant", "agent")):
        message = {
            "role": role,
            "content": [{"type": "text", "text": getattr(turn, f"{side}_message_content")}],
            "idempotencyKey": getattr(turn, f"{side}_message_id"),
            "metadata": getattr(turn, f"{side}_metadata"),
        }
        records.append({"type": "message", "id": record_id, "timestamp": turn.created_at, "message": message})
    metadata = turn.user_metadata or {}
    identity = {key: metadata[name] for key, name in PEOPLE.items() if metadata.get(name)}
    own = {"senderId": turn.user_from} | ({"senderIdentity": identity} if identity else {})
    records[0]["message"]["__openclaw"] = own
    return records if turn.agent_message_content else records[:1]


def choose_joins(rows: Iterable[Any]) -> list[Any]:
    """Those rows of JOINED that join turns: each turn is one other turn at most."""
    taken = set[str]()
    return [row for row in rows if taken.isdisjoint((row[0], row[4])) and not taken.update((row[0], row[4]))]


def find_turns(db: str, named: Iterable[tuple[str | None, str | None]]) -> dict[tuple[Any, Any], ConversationTurn]:
    """The turns that a source names, by session and turn as it names them.

    A turn of the plugin that a transcript has is that of the transcript.
    """
    ids = {(session, turn): [turn, f"{build_session_id(session or '')}:{turn}"] for session, turn in named if turn}
    rows = ConversationTurn.objects.using(db)
    turns = rows.in_bulk([name for names in ids.values() for name in names])
    repeated = {turn.session_id for turn in turns.values() if turn.repeat_of and turn.session_id.startswith(PREFIX)}
    query = JOINED.format(where=OF_REPEATED), [encode(sorted(repeated))]
    joined = choose_joins(statements.read_rows(db, *query) if repeated else [])
    turns |= {row[0]: rows.get(id=row[4]) for row in joined if row[0] in turns}
    return {pair: turns[name] for pair, names in ids.items() for name in reversed(names) if name in turns}
