"""Reads the answer of a stored turn in full, which its row has only the beginning of."""

from ..collectors.answers import Answer, find_answer
from ..collectors.records import read_facts
from ..models import ConversationTurn, Session
from .origins import find_conversation
from .trimming import full_record

BATCH = 50


def read_answer(session: Session, turn: ConversationTurn) -> Answer:
    """The answer of a turn, from its records on its branch."""
    events = session.events.filter(turn_number=turn.turn_number, is_active=turn.is_active)
    events = events.filter(kind__in=("assistant", "tool_result"), seq__range=(turn.first_seq, turn.last_seq))
    messages = [read_facts(full_record(event)) for event in events.order_by("seq").iterator(chunk_size=BATCH)]
    return find_answer(messages, find_conversation(session))
