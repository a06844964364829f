"""The messages before a turn, stored once the turn becomes evidence.

Turns may be removed and come back; evidence stays.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite import rows as sqlite_rows

from ..models import ConversationContext, ConversationTurn
from . import forks
from .late_projections import read_model_prompt
from .resets import find_last_before, list_active_resets, list_resets

Messages = list[dict[str, Any]]
NONE_GIVEN: Mapping[str, Messages] = MappingProxyType({})
SETTING = "memoryGate.windowSize"
BUDGET_BYTES = 2_000_000  # of messages in one answer
OWN = 10_000  # the last records of an abandoned branch, in which its turns are searched

COLUMNS = ("turn_id", "role", "message", "timestamp", "sequence_number")
KEEP = sqlite_rows.insert_sql("conversation_contexts", COLUMNS).replace("INSERT", dialect.INSERT_OR_LEAVE, 1)


class NoSuchTurn(Refused):
    """An id that no turn of this agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class Context:
    """The messages before a turn, oldest first.

    `is_kept`: they are stored, because the turn is evidence. Each item is `{"id", "turn_id", "role", "message",
    "timestamp", "sequence_number"}`, as the Reflection spec has it; an item that is not stored has no `id`. Messages
    are as long as turns hold them. `left_out` older ones did not fit.
    """

    turn: ConversationTurn
    items: Messages
    is_kept: bool
    left_out: int = 0
    model_prompt: str | None = None  # what the model saw of the turn's own message

    def as_json(self) -> dict[str, Any]:
        return {
            "turn_id": self.turn.id,
            "session_id": self.turn.session_id,
            "turn_number": self.turn.turn_number,
            "is_kept": self.is_kept,
            "left_out": self.left_out,
            "items": self.items,
            "model_prompt": self.model_prompt,
        }


def read_context(db: str, size: int, **which: Any) -> Context:
    """The messages before one turn: the stored ones, else the `size` messages before it now.

    Raises NoSuchTurn. Messages from before a reset of the session are left out. `which` is `id`, or `session` and
    `turn_number`. A turn off the active branch has the messages of its own branch.
    """
    turn = ConversationTurn.objects.using(db).filter(**which).defer("agent_message_content").first()
    if turn is None:
        raise NoSuchTurn(_("This agent has no such turn. See the list of turns for their ids."))
    rows = ConversationContext.objects.using(db).filter(turn=turn).order_by("sequence_number")
    items = list(rows.values("id", "turn_id", "role", "message", "timestamp", "sequence_number"))
    is_kept = bool(items)
    if not is_kept:
        before = _read_before(db, [turn], size)[turn.id]
        items = [
            {"id": None, "turn_id": turn.id, **message, "sequence_number": number}
            for number, message in enumerate(before)
        ]
    # The last of these messages that fit in an answer.
    room, start = BUDGET_BYTES, len(items)
    for item in reversed(items):
        room -= len(item["message"].encode())
        if room < 0:
            break
        start -= 1
    fitting = items[start:]
    return Context(turn, fitting, is_kept, len(items) - len(fitting), read_model_prompt(turn))


def store_contexts(
    db: str, turns: list[ConversationTurn], size: int, *, given: Mapping[str, Messages] = NONE_GIVEN
) -> dict[str, Messages]:
    """Store the `size` messages before each of these turns of an agent.

    Returns them by turn id, oldest first, each `{"role": "user"|"agent", "message", "timestamp"}`. Messages that are
    stored already stay and are returned, so storing twice is storing once. `given` are messages of turns that the
    caller knows.
    """
    contexts = _read_kept(db, turns)
    unkept = [turn for turn in turns if turn.id not in contexts]
    fresh = {turn.id: given[turn.id] for turn in unkept if turn.id in given}
    by_session = defaultdict(list)
    for turn in unkept:
        if turn.id not in given:
            by_session[turn.session_id].append(turn)
    for group in by_session.values():
        fresh |= _read_before(db, group, size)
    rows = (
        (turn_id, message["role"], message["message"], message["timestamp"], number)
        for turn_id, messages in fresh.items()
        for number, message in enumerate(messages)
    )
    statements.run_many(db, KEEP, rows)
    contexts |= fresh
    return {turn_id: messages[-size:] if size else [] for turn_id, messages in contexts.items()}


def _read_kept(db, turns):
    contexts: dict[str, Messages] = {}
    rows = ConversationContext.objects.using(db).filter(turn_id__in=[turn.id for turn in turns])
    columns = ("turn_id", "role", "message", "timestamp")
    for turn_id, *message in rows.order_by("turn_id", "sequence_number").values_list(*columns):
        contexts.setdefault(turn_id, []).append(dict(zip(columns[1:], message, strict=True)))
    return contexts


def _read_before(db, turns, size):
    """The messages before each turn, from the turns before it on its branch.

    It takes three queries for all active turns of a session.
    """
    aside = {turn.id: _read_before_abandoned(db, turn, size) for turn in turns if not turn.is_active}
    return aside | _read_before_active(db, [turn for turn in turns if turn.is_active], size)


def _read_before_abandoned(db, turn, size):
    """The messages before a turn on an abandoned branch.

    They are those of its own turns, and of the active branch before it forks off.
    """
    branch = forks.find_branch_path(turn.session, turn.id.removeprefix(f"{turn.session_id}:"))
    if branch is None:
        return _read_before_active(db, [turn], size)[turn.id]
    shared, aside = (
        Q(is_active=True, first_seq__lte=branch.fork_seq),
        Q(is_active=False, first_seq__in=branch.own[-OWN:]),
    )
    turns = ConversationTurn.objects.using(db).filter(shared | aside, session_id=turn.session_id)
    own = set(branch.own)
    resets = [
        seq for seq, active in list_resets(db, turn.session_id) if (seq <= branch.fork_seq if active else seq in own)
    ]
    begin = find_last_before(resets, turn.first_seq)
    near = turns.filter(first_seq__gt=begin, first_seq__lt=turn.first_seq).order_by("-first_seq")
    near = near.values_list("turn_number", flat=True)
    numbers = list(near[:size])
    messages_by_turn = _read_messages(turns.filter(turn_number__in=numbers))
    messages = [message for number in reversed(numbers) for message in messages_by_turn[number]]
    return messages[-size:] if size else []


def _read_before_active(db, turns, size):
    if not turns:
        return {}
    active = ConversationTurn.objects.using(db).active().filter(session_id=turns[0].session_id)
    places = list(active.order_by("first_seq").values_list("first_seq", "turn_number"))
    seqs = [seq for seq, _ in places]
    resets = list_active_resets(db, [turns[0].session_id]).get(turns[0].session_id, [])
    near: dict[str, list[int]] = {}
    for turn in turns:
        begin = bisect_right(seqs, find_last_before(resets, turn.first_seq))
        end = bisect_left(seqs, turn.first_seq)
        before = places[max(begin, end - size) : end]  # each turn has one message at least
        near[turn.id] = [number for _, number in before]
    messages_by_turn = _read_messages(
        active.filter(turn_number__in={number for numbers in near.values() for number in numbers})
    )
    contexts = {}
    for turn_id, numbers in near.items():
        messages = [message for number in numbers for message in messages_by_turn[number]]
        contexts[turn_id] = messages[-size:] if size else []
    return contexts


def _read_messages(turns):
    """The one or two messages of each turn, by turn number."""
    messages_by_turn: dict[int, Messages] = {}
    columns = ("turn_number", "created_at", "latency_ms", "user_message_content", "agent_message_content")
    for number, user_at, latency, user, agent in turns.values_list(*columns):
        messages_by_turn[number] = [{"role": "user", "message": user, "timestamp": user_at}]
        if agent:
            messages_by_turn[number].append({"role": "agent", "message": agent, "timestamp": user_at + (latency or 0)})
    return messages_by_turn
