"""The messages before a turn, written down once the turn becomes evidence: turns go and come back, evidence stays."""

from bisect import bisect_left, bisect_right
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
OWN = 10_000  # records of a branch that was left, the last ones, in which its turns are looked for

COLUMNS = ("turn_id", "role", "message", "timestamp", "sequence_number")
KEEP = sqlite_rows.insert_sql("conversation_contexts", COLUMNS).replace("INSERT", dialect.INSERT_OR_LEAVE, 1)


class NoSuchTurn(Refused):
    """An id that no turn of this agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class Context:
    """The messages before a turn, oldest first. `is_kept`: written down, because the turn is evidence.

    Each item is `{"id", "turn_id", "role", "message", "timestamp", "sequence_number"}`, as the Reflection spec has it;
    one that is not kept has no `id`. Messages are as long as turns hold them. `left_out` older ones did not fit.
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
    """What was said before one turn: as it was kept, else the `size` messages before it now. Raises NoSuchTurn.

    Nothing from before a reset of the session is in it. `which` is `id`, or `session` and `turn_number`. A turn off
    the active branch has the messages of its own branch.
    """
    turn = ConversationTurn.objects.using(db).filter(**which).defer("agent_message_content").first()
    if turn is None:
        raise NoSuchTurn(_("This agent has no such turn. See the list of turns for their ids."))
    rows = ConversationContext.objects.using(db).filter(turn=turn).order_by("sequence_number")
    items = list(rows.values("id", "turn_id", "role", "message", "timestamp", "sequence_number"))
    is_kept = bool(items)
    if not is_kept:
        before = _before(db, [turn], size)[turn.id]
        items = [
            {"id": None, "turn_id": turn.id, **message, "sequence_number": number}
            for number, message in enumerate(before)
        ]
    fitting = _fitting(items)
    return Context(turn, fitting, is_kept, len(items) - len(fitting), read_model_prompt(turn))


def _fitting(items):
    """The last of these messages that fit in an answer."""
    room, start = BUDGET_BYTES, len(items)
    for item in reversed(items):
        room -= len(item["message"].encode())
        if room < 0:
            break
        start -= 1
    return items[start:]


def store_contexts(
    db: str, turns: list[ConversationTurn], size: int, *, given: Mapping[str, Messages] = NONE_GIVEN
) -> dict[str, Messages]:
    """Write down the `size` messages before each of these turns of one session; returns them by turn id.

    Oldest first, each `{"role": "user"|"agent", "message", "timestamp"}`. What was kept before stays and is
    returned, so keeping twice is keeping once. `given` are those of turns for which somebody said what they were.
    """
    contexts = _kept(db, turns)
    unkept = [turn for turn in turns if turn.id not in contexts]
    fresh = {turn.id: given[turn.id] for turn in unkept if turn.id in given}
    fresh |= _before(db, [turn for turn in unkept if turn.id not in given], size)
    rows = (
        (turn_id, message["role"], message["message"], message["timestamp"], number)
        for turn_id, messages in fresh.items()
        for number, message in enumerate(messages)
    )
    statements.run_many(db, KEEP, rows)
    contexts |= fresh
    return {turn_id: messages[-size:] if size else [] for turn_id, messages in contexts.items()}


def _kept(db, turns):
    contexts: dict[str, Messages] = {}
    rows = ConversationContext.objects.using(db).filter(turn_id__in=[turn.id for turn in turns])
    columns = ("turn_id", "role", "message", "timestamp")
    for turn_id, *message in rows.order_by("turn_id", "sequence_number").values_list(*columns):
        contexts.setdefault(turn_id, []).append(dict(zip(columns[1:], message, strict=True)))
    return contexts


def _before(db, turns, size):
    """The messages before each turn, from the turns before it on its branch: three queries for all active ones."""
    aside = {turn.id: _before_aside(db, turn, size) for turn in turns if not turn.is_active}
    return aside | _before_active(db, [turn for turn in turns if turn.is_active], size)


def _before_aside(db, turn, size):
    """Of a turn on a branch that was left: its own turns, and those of the active branch before it forks off."""
    way = forks.find_branch_path(turn.session, turn.id.removeprefix(f"{turn.session_id}:"))
    if way is None:
        return _before_active(db, [turn], size)[turn.id]
    shared, aside = Q(is_active=True, first_seq__lte=way.fork_seq), Q(is_active=False, first_seq__in=way.own[-OWN:])
    turns = ConversationTurn.objects.using(db).filter(shared | aside, session_id=turn.session_id)
    own = set(way.own)
    resets = [
        seq for seq, active in list_resets(db, turn.session_id) if (seq <= way.fork_seq if active else seq in own)
    ]
    begin = find_last_before(resets, turn.first_seq)
    near = turns.filter(first_seq__gt=begin, first_seq__lt=turn.first_seq).order_by("-first_seq")
    near = near.values_list("turn_number", flat=True)
    numbers = list(near[:size])
    said = _messages(turns.filter(turn_number__in=numbers))
    messages = [message for number in reversed(numbers) for message in said[number]]
    return messages[-size:] if size else []


def _before_active(db, turns, size):
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
    said = _messages(active.filter(turn_number__in={number for numbers in near.values() for number in numbers}))
    contexts = {}
    for turn_id, numbers in near.items():
        messages = [message for number in numbers for message in said[number]]
        contexts[turn_id] = messages[-size:] if size else []
    return contexts


def _messages(turns):
    """The one or two messages of each turn, by turn number."""
    said: dict[int, Messages] = {}
    columns = ("turn_number", "created_at", "latency_ms", "user_message_content", "agent_message_content")
    for number, asked_at, latency, user, agent in turns.values_list(*columns):
        said[number] = [{"role": "user", "message": user, "timestamp": asked_at}]
        if agent:
            said[number].append({"role": "agent", "message": agent, "timestamp": asked_at + (latency or 0)})
    return said
