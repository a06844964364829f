"""Archives of sessions with gate decisions contain the messages kept for them.

A restore brings these messages back.
"""

import pytest

from gate.models import MemoryGateDecision
from ledger.models import ConversationContext, ConversationTurn, Session
from ledger.transcripts import contexts
from tests.factories import DecisionFactory, SessionFactory, TurnFactory

from . import test_archive_restore
from .test_archive_restore import DB, archive_session, find_first_row, forge_archive, restore, restore_refused, store

pytestmark = pytest.mark.django_db
home = test_archive_restore.home


def store_judged():
    """Store a session of three turns with a decision on each.

    Returns the messages that are kept for the decisions, by turn.
    """
    turns = list(ConversationTurn.objects.using(DB).filter(session_id=store(words=("One", "Two", "Three"))))
    for turn in turns:
        DecisionFactory(db=DB, turn_id=turn.id, session_id="s")
    return contexts.store_contexts(DB, turns, 10)


def read_contexts():
    rows = ConversationContext.objects.using(DB).order_by("turn_id", "sequence_number")
    return list(rows.values_list("turn_id", "sequence_number", "role", "message", "timestamp"))


def count_matched():
    turns = ConversationTurn.objects.using(DB).values("id")
    return MemoryGateDecision.objects.using(DB).filter(turn_id__in=turns).count()


def test_what_was_kept_comes_back_under_whatever_numbers_are_free(home):
    store_judged()
    before = read_contexts()
    path = archive_session(home)
    assert len(before) == 6 and not read_contexts() and count_matched() == 0
    turn = TurnFactory(db=DB, id="t:u1", session=SessionFactory(db=DB, id="t"), turn_number=1)
    ConversationContext.objects.using(DB).create(
        id=1, turn=turn, role="user", message="Another", timestamp=1, sequence_number=0
    )
    for how in ("restored", "there"):
        receipt = restore(path)
        assert (receipt[how], receipt["failed"]) == (1, []), receipt
    assert [row for row in read_contexts() if row[0] != "t:u1"] == before and count_matched() == 3
    assert archive_session(home).name == path.name


@pytest.mark.parametrize("turn_id", ["t:u1", "s:none", "s:t:u1", None, 5])
def test_messages_of_other_turns_are_refused(home, turn_id):
    store_judged()
    path = archive_session(home)
    TurnFactory(db=DB, id="s:t:u1", session=SessionFactory(db=DB, id="s:t"), turn_number=1)

    def change(lines):
        find_first_row(lines, "conversation_contexts")["turn_id"] = turn_id

    assert restore_refused(forge_archive(path, change))
    assert not read_contexts() and not Session.objects.using(DB).filter(id="s").exists()
