"""What a model is shown of a turn: the turn and the messages before it, as far as their senders allow that today."""

from collections.abc import Iterator
from typing import Any

from ledger import consent
from ledger.models import ConversationTurn
from ledger.transcripts.resets import find_last_before, list_active_resets

from ..recording.windows import Window


def build_window(db: str, turn: ConversationTurn, size: int) -> Window | None:
    """The window of a turn of the active branch, with `size` messages before it; None when the turn is withheld.

    Messages of other turns that are withheld are left out, and none takes their place.
    """
    before = _turns_before(db, turn, size)
    hidden = consent.find_withheld(db, [*before, turn])
    if turn.id in hidden:
        return None
    said = [(one.id, message) for one in before for message in _messages(one)][-size:] if size else []
    recent = tuple(message for turn_id, message in said if turn_id not in hidden)
    return Window(recent, turn.user_message_content, turn.agent_message_content or None)


def _turns_before(db, turn, size):
    """The turns before one on the active branch since the last reset, oldest first: as many as messages are wanted."""
    turns = ConversationTurn.objects.using(db).active().filter(session_id=turn.session_id)
    begin = find_last_before(list_active_resets(db, [turn.session_id]).get(turn.session_id, []), turn.first_seq)
    near = turns.filter(first_seq__gt=begin, first_seq__lt=turn.first_seq).order_by("-first_seq")
    return list(reversed(near.defer("user_metadata", "agent_metadata")[:size]))


def _messages(turn: ConversationTurn) -> Iterator[dict[str, Any]]:
    """The one or two messages of a turn, as `ledger.transcripts.contexts` keeps them."""
    asked_at = turn.created_at
    yield {"role": "user", "message": turn.user_message_content, "timestamp": asked_at}
    if turn.agent_message_content:
        at = asked_at + (turn.latency_ms or 0)
        yield {"role": "agent", "message": turn.agent_message_content, "timestamp": at}
