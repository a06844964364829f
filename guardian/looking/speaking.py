"""Who wrote the message of a turn, as the pages of its session name them."""

from ledger.json_columns import object_in
from ledger.markup.filters import INJECTED_WORDS
from ledger.models import ConversationTurn
from ledger.session.timeline import SENDER_NAMES

LONGEST = 80  # characters


def speaker_of(turn: ConversationTurn) -> str:
    """The name that the channel gave, what sent an automatic message, or an id; empty: nobody is known."""
    told = object_in(turn.user_metadata)
    if sort := told.get("injected"):
        return str(INJECTED_WORDS.get(sort, sort))[:LONGEST]
    names = (str(told[name]) for name in SENDER_NAMES if told.get(name))
    return next(names, turn.user_from or "")[:LONGEST]
