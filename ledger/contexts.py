"""The messages before a turn, written down once the turn becomes evidence: turns go and come back, evidence stays."""

from typing import Any

from .branches import window
from .models import ConversationContext, ConversationTurn


def keep_context(db: str, turn: ConversationTurn, size: int) -> list[dict[str, Any]]:
    """Write down the `size` messages before a turn, unless some were kept before, and return them.

    Oldest first, each `{"role": "user"|"agent", "message", "timestamp"}`. Keeping twice is keeping once.
    """
    messages = window(db, turn, size)
    ConversationContext.objects.using(db).bulk_create(
        [
            ConversationContext(turn_id=turn.id, sequence_number=number, **message)
            for number, message in enumerate(messages)
        ],
        ignore_conflicts=True,
    )
    return messages
