"""Archives of sessions that memory_gate judged: the messages that were kept for its decisions go in, and come back."""

import pytest

from gate.models import MemoryGateDecision
from ledger.models import ConversationContext, ConversationTurn, Session
from ledger.transcripts import contexts
from tests.factories import DecisionFactory, SessionFactory, TurnFactory

from . import test_archive_restore
from .test_archive_restore import DB, archived, first, forged, reason, restore, store

pytestmark = pytest.mark.django_db
home = test_archive_restore.home


def judged():
    """A session of three turns with a decision on each; its messages as they were kept, by turn."""
    turns = list(ConversationTurn.objects.using(DB).filter(session_id=store(words=("One", "Two", "Three"))))
    for turn in turns:
        DecisionFactory(db=DB, turn_id=turn.id, session_id="s")
    return contexts.store_contexts(DB, turns, 10)


def kept():
    rows = ConversationContext.objects.using(DB).order_by("turn_id", "sequence_number")
    return list(rows.values_list("turn_id", "sequence_number", "role", "message", "timestamp"))


def matched():
    turns = ConversationTurn.objects.using(DB).values("id")
    return MemoryGateDecision.objects.using(DB).filter(turn_id__in=turns).count()


def test_what_was_kept_comes_back_under_whatever_numbers_are_free(home):
    judged()
    before = kept()
    path = archived(home)
    assert len(before) == 6 and not kept() and matched() == 0
    turn = TurnFactory(db=DB, id="t:u1", session=SessionFactory(db=DB, id="t"), turn_number=1)
    ConversationContext.objects.using(DB).create(
        id=1, turn=turn, role="user", message="Another", timestamp=1, sequence_number=0
    )
    for how in ("restored", "there"):
        receipt = restore(path)
        assert (receipt[how], receipt["failed"]) == (1, []), receipt
    assert [row for row in kept() if row[0] != "t:u1"] == before and matched() == 3
    assert archived(home).name == path.name


@pytest.mark.parametrize("turn_id", ["t:u1", "s:none", "s:t:u1", None, 5])
def test_messages_of_other_turns_are_refused(home, turn_id):
    judged()
    path = archived(home)
    TurnFactory(db=DB, id="s:t:u1", session=SessionFactory(db=DB, id="s:t"), turn_number=1)

    def change(told):
        first(told, "conversation_contexts")["turn_id"] = turn_id

    assert reason(forged(path, change))
    assert not kept() and not Session.objects.using(DB).filter(id="s").exists()
