"""Windows that a plugin reports from a chat in which somebody has opted out.

Their words do not come in with its windows.
"""

import pytest

from gate.models import MemoryGateDecision
from gate.recording import windows
from ledger.models import ConversationTurn, Session
from people.configuration import setting_values as configuration
from tests.gate.test_record import make_report, post
from tests.homes import assistant
from tests.ledger.transcript_records import channel_message, store_group_chat, store_session

pytestmark = pytest.mark.django_db
DB = "agent_ada"


@pytest.fixture
def turns(ada):
    """Two turns of mei in a chat of several people; tom's messages there were never imported."""
    return store_group_chat("mei", "mei")


def record(client, turn, *messages):
    context = [{"role": role, "message": text, "timestamp": 1} for role, text in messages]
    answer = post(client, make_report(1, turn_id=turn.id, context=context))
    assert answer.json()["recorded"] == ["d1"]
    return MemoryGateDecision.objects.using(DB).get()


def recent(row):
    return [message["message"] for message in windows.read_window(DB, row.window_hash).recent]


def test_words_that_nobody_can_tell_whose_they_are_do_not_come_in(as_operator, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    row = record(as_operator, turns[1], ("user", "Mei one"), ("user", "Tom one"))
    assert (recent(row), row.is_window_derived) == (["Mei one", "To Mei"], True)


@pytest.mark.parametrize(
    "key",
    [
        "agent:ada:irc:direct:alice",
        "agent:ada:irc:dm:Alice",
        "agent:ada:irc:home:direct:irc:alice",
        "agent:ada:direct:alice",
    ],
)
def test_everything_said_in_a_direct_chat_is_of_its_person(as_operator, ada, key):
    store_session(
        channel_message("", "My one"), assistant("To you"), channel_message("", "My two"), assistant("To you again")
    )
    Session.objects.using(DB).filter(id="s1").update(session_key=key, origin="direct")
    first, second = ConversationTurn.objects.using(DB).order_by("first_seq")
    configuration.put("collector.optedOutSenders", ["tom"])
    assert post(as_operator, make_report(1, turn_id=first.id)).json()["recorded"] == ["d1"]
    configuration.put("collector.optedOutSenders", ["alice"])
    answer = post(as_operator, make_report(2, turn_id=second.id)).json()
    assert (answer["recorded"], answer["withheld"]) == ([], 1)
    assert windows.find_withheld(DB, MemoryGateDecision.objects.using(DB).all()) == {"d1"}


def test_windows_of_others_are_kept_as_they_were_told(as_operator, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    row = record(as_operator, turns[1], ("agent", "To Mei"))
    assert (recent(row), row.is_window_derived) == (["To Mei"], False)


def test_while_nobody_has_opted_out_every_window_is_kept(as_operator, turns):
    row = record(as_operator, turns[1], ("user", "Tom one"))
    assert (recent(row), row.is_window_derived) == (["Tom one"], False)


def test_what_they_said_before_they_opted_out_is_not_in_a_window_that_is_derived(as_operator, turns):
    store_session(
        channel_message("tom", "Tom one"),
        assistant("To Tom"),
        channel_message("mei", "Mei three"),
        assistant("Yes"),
        session_id="s2",
    )
    Session.objects.using(DB).filter(id="s2").update(session_key="agent:ada:irc:group:#other", origin="group")
    configuration.put("collector.optedOutSenders", ["tom"])
    last = ConversationTurn.objects.using(DB).filter(session_id="s2").order_by("-first_seq").first()
    post(as_operator, make_report(1, turn_id=last.id, session_id="s2"))
    row = MemoryGateDecision.objects.using(DB).get()
    assert (row.turn_id, row.is_window_derived, recent(row)) == (last.id, True, [])
