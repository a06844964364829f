"""Builds the window of a turn: the turn and the messages before it.

Messages are left out where their senders do not allow their use today.
"""

from collections.abc import Iterator
from typing import Any

from ledger import consent
from ledger.models import ConversationTurn
from ledger.transcripts.resets import find_last_before, list_active_resets

from ..recording.windows import Window


def build_window(db: str, turn: ConversationTurn, size: int) -> Window | None:
    """Build the window of a turn of the active branch; None when the turn is withheld.

    The window has `size` messages before the turn. Messages of other turns that are withheld are left out, and not
    replaced by older ones.
    """
    # The last `size` turns before a turn on its branch, oldest first.
    turns = ConversationTurn.objects.using(db).active().filter(session_id=turn.session_id)
    begin = find_last_before(list_active_resets(db, [turn.session_id]).get(turn.session_id, []), turn.first_seq)
    nearest = turns.filter(first_seq__gt=begin, first_seq__lt=turn.first_seq).order_by("-first_seq")
    before = list(reversed(nearest.defer("user_metadata", "agent_metadata")[:size]))
    hidden = consent.find_withheld(db, [*before, turn])
    if turn.id in hidden:
        return None
    messages = (
        [(earlier_turn.id, message) for earlier_turn in before for message in _build_messages(earlier_turn)][-size:]
        if size
        else []
    )
    recent = tuple(message for turn_id, message in messages if turn_id not in hidden)
    return Window(recent, turn.user_message_content, turn.agent_message_content or None)


def _build_messages(turn: ConversationTurn) -> Iterator[dict[str, Any]]:
    """Yield the one or two messages of a turn, as `ledger.transcripts.contexts` stores them."""
    asked_at = turn.created_at
    yield {"role": "user", "message": turn.user_message_content, "timestamp": asked_at}
    if turn.agent_message_content:
        at = asked_at + (turn.latency_ms or 0)
        yield {"role": "agent", "message": turn.agent_message_content, "timestamp": at}
