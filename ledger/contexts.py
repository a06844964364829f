"""The messages before a turn, written down once the turn becomes evidence: turns go and come back, evidence stays."""

from bisect import bisect_left
from typing import Any

from .models import ConversationContext, ConversationTurn

Messages = list[dict[str, Any]]


def keep_contexts(db: str, turns: list[ConversationTurn], size: int) -> dict[str, Messages]:
    """Write down the `size` messages before each of these turns of one session; returns them by turn id.

    Oldest first, each `{"role": "user"|"agent", "message", "timestamp"}`. What was kept before stays and is
    returned, so keeping twice is keeping once.
    """
    contexts = _kept(db, turns)
    fresh = _before(db, [turn for turn in turns if turn.id not in contexts], size)
    ConversationContext.objects.using(db).bulk_create(
        [
            ConversationContext(turn_id=turn_id, sequence_number=number, **message)
            for turn_id, messages in fresh.items()
            for number, message in enumerate(messages)
        ],
        ignore_conflicts=True,
    )
    contexts |= fresh
    return {turn_id: messages[-size:] if size else [] for turn_id, messages in contexts.items()}


def _kept(db, turns):
    contexts: dict[str, Messages] = {}
    rows = ConversationContext.objects.using(db).filter(turn_id__in=[turn.id for turn in turns])
    for row in rows.order_by("turn_id", "sequence_number"):
        message = {"role": row.role, "message": row.message, "timestamp": row.timestamp}
        contexts.setdefault(row.turn_id, []).append(message)
    return contexts


def _before(db, turns, size):
    """The messages before each turn, from the turns before it on the active branch. Two queries, however many."""
    if not turns:
        return {}
    active = ConversationTurn.objects.using(db).active().filter(session_id=turns[0].session_id)
    places = list(active.order_by("first_seq").values_list("first_seq", "turn_number"))
    seqs = [seq for seq, _ in places]
    near: dict[str, list[int]] = {}
    for turn in turns:
        end = bisect_left(seqs, turn.first_seq)
        near[turn.id] = [number for _, number in places[max(0, end - size // 2 - 1) : end]]
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
