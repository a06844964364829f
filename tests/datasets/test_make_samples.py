"""Samples made from turns."""

import pytest

from datasets import services
from datasets.kinds import changed_turns
from datasets.models import DatasetSample
from datasets.review import verdicts
from ledger.models import ConversationContext, ConversationTurn, Session, TranscriptEvent
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.conversations import agent, store_session, store_turns, tool_result, user
from tests.datasets.exports.branches import Steps
from tests.datasets.exports.export_helpers import build_and_read, excluded_samples
from tests.factories import DecisionFactory

pytestmark = pytest.mark.django_db
URL = "/agents/ada/sessions/s1/samples/"
LIST = "/samples/?agent=ada&session=s1"


def bodies():
    return {sample.turn_number: sample.body for sample in DatasetSample.objects.all()}


def read_messages(response):
    return [str(message) for message in response.wsgi_request._messages]


def test_it_works(client, reviewer, ada):
    store_turns(3)
    client.force_login(reviewer)
    answer = client.post(URL, {"turn": ["1", "3"]}, follow=True)
    assert answer.redirect_chain == [(LIST, 302)]
    assert "2 samples created." in answer.text
    assert bodies()[3] == {
        "type": "annotated_turn",
        "conversationId": "s1",
        "turnNumber": 3,
        "context": [
            {"role": "user", "message": "question 1"},
            {"role": "agent", "message": "answer 1"},
            {"role": "user", "message": "question 2"},
            {"role": "agent", "message": "answer 2"},
        ],
        "userMessage": "question 3",
        "agentReply": "answer 3",
    }
    sample = DatasetSample.objects.get(turn_number=3)
    assert (sample.agent_id, sample.session_id, sample.turn_id) == ("ada", "s1", "s1:u3")
    assert (sample.sample_type, sample.annotation_status) == ("annotated_turn", "pending")
    assert (sample.collection_strategy, sample.output) == ("manual", None)


def test_making_twice_is_making_once(as_admin, ada):
    store_turns(3)
    as_admin.post(URL, {"turn": ["1", "2"]})
    before = set(DatasetSample.objects.values_list("id", "created_at"))
    answer = as_admin.post(URL, {"turn": ["1", "2", "3"]}, follow=True)
    assert "1 sample created, 2 already existed." in answer.text
    assert before < set(DatasetSample.objects.values_list("id", "created_at"))
    assert DatasetSample.objects.count() == 3


def test_a_verdict_survives_making_again(as_admin, ada):
    store_turns(1)
    as_admin.post(URL, {"all": "1"})
    sample = DatasetSample.objects.get()
    verdicts.label_sample(sample.id, "approved", by="root", output="better")
    as_admin.post(URL, {"turn": "1"})
    sample.refresh_from_db()
    assert (sample.annotation_status, sample.output) == ("approved", "better")


def test_all_turns_of_a_session(as_admin, ada):
    store_turns(3)
    store_turns(2, session_id="s2")
    assert "3 samples created." in as_admin.post(URL, {"all": "1"}, follow=True).text
    assert {sample.session_id for sample in DatasetSample.objects.all()} == {"s1"}


def test_the_list_shows_them_in_the_order_of_the_conversation(as_admin, ada):
    store_turns(60)
    as_admin.post(URL, {"all": "1"})
    page = as_admin.get(LIST)
    assert [sample["turn_number"] for sample in page.context["page"]] == list(range(1, 51))


def test_long_words_are_kept_whole(as_admin, ada):
    question, answer = "q" * 20_000, "a\n" * 20_000
    store_session([user("u1", question), agent("a1", answer)])
    as_admin.post(URL, {"all": "1"})
    assert bodies()[1]["userMessage"] == question
    assert bodies()[1]["agentReply"] == answer


def test_turns_that_cannot_be_samples_are_left_out_with_the_reason(as_admin, ada):
    store_session(
        [
            user("u1", "left behind"),
            agent("a1", "yes"),
            user("u2", "kept", after="a0"),
            agent("a2", "fine"),
            user("u3", "", after="a2"),
            agent("a3", "what do you mean?"),
            user("u4", "only a tool"),
            agent("a4", ""),
        ]
    )
    ConversationTurn.objects.using("agent_ada").filter(turn_number=1).update(is_active=False)
    answer = as_admin.post(URL, {"turn": ["1", "2", "3", "4", "99"]}, follow=True).text
    for sentence in (
        "1 sample created, 4 turns skipped.",
        "Turn 1: On an abandoned branch.",
        "Turn 3: The user&#39;s message has no text.",
        "Turn 4: No reply.",
        "Turn 99: There is no such turn.",
    ):
        assert sentence in answer
    assert list(bodies()) == [2]


@pytest.mark.parametrize(
    ("sender", "why"),
    [
        ("42", "The sender opted out, so the text is not used."),
        (None, "Somebody opted out and the sender is unknown, so the text is not used."),
    ],
)
def test_words_of_people_who_opted_out_are_not_used(ada, sender, why):
    store_session(
        [user("u1", "first", sender=sender), agent("a1", "yes"), user("u2", "fine", sender="7"), agent("a2", "yes")]
    )
    configuration.put("collector.optedOutSenders", ["42"])
    made = services.make_samples(ada, "s1", None, by="root")
    assert services.describe_problems(made) == [f"Turn 1: {why}"]
    assert list(bodies()) == [2]
    assert bodies()[2]["context"] == []  # nor before another turn


def test_words_of_a_direct_chat_with_somebody_who_opted_out_are_not_used(ada):
    store_session([user("u1", "names nobody"), agent("a1", "yes")])
    Session.objects.using("agent_ada").update(session_key="agent:ada:irc:direct:alice", origin="direct")
    configuration.put("collector.optedOutSenders", ["alice"])
    made = services.make_samples(ada, "s1", None, by="root")
    assert services.describe_problems(made) == ["Turn 1: The sender opted out, so the text is not used."]


def test_what_others_said_before_a_turn_goes_with_it_while_somebody_is_opted_out(ada):
    store_session(
        [
            *(user("u1", "morning", sender="7"), agent("a1", "good morning")),
            *(user("u2", "now opted out", sender="42"), agent("a2", "for 42")),
            *(user("u3", "fine", sender="7"), agent("a3", "yes")),
        ]
    )
    configuration.put("collector.optedOutSenders", ["42"])
    services.make_samples(ada, "s1", [3], by="root")
    assert [message["message"] for message in bodies()[3]["context"]] == ["morning", "good morning"]


def test_withheld_records_never_become_samples(ada):
    store_session(
        [
            *(user("u1", "secret", sender="42"), agent("a1", "secret too")),
            *(user("u2", "fine", sender="7"), agent("a2", "yes"), user("u3", "whose secret?"), agent("a3", "secret")),
        ],
        opted_out={"42"},
    )
    services.make_samples(ada, "s1", None, by="root")
    assert [body["userMessage"] for body in bodies().values()] == ["fine"]
    assert "secret" not in "".join(DatasetSample.objects.values_list("content", flat=True))


def test_what_the_gate_decided_goes_with_it(ada):
    store_turns(2)
    DecisionFactory(turn_id="s1:u2", session_id="s1", decision="NO_WRITE", created_at=1)
    last = DecisionFactory(turn_id="s1:u2", session_id="s1", decision="UPDATE_USER", created_at=2)
    services.make_samples(ada, "s1", None, by="root")
    assert "memoryGate" not in bodies()[1]
    gate = bodies()[2]["memoryGate"]
    assert gate["output"] == {
        "decision": "UPDATE_USER",
        "reason": "A stable preference.",
        "candidateFact": "prefers mornings",
    }
    assert gate["input"]["currentUserMessage"] == "question 2"
    assert DatasetSample.objects.get(turn_number=2).decision_id == last.id


def test_the_context_is_kept_once_and_stays_as_it_was(ada):
    configuration.put("memoryGate.windowSize", 3)
    store_turns(4)
    services.make_samples(ada, "s1", [4], by="root")
    contexts = ConversationContext.objects.using("agent_ada").order_by("sequence_number")
    rows = list(contexts.values_list("turn_id", "sequence_number", "role", "message"))
    assert rows == [
        ("s1:u4", 0, "agent", "answer 2"),
        ("s1:u4", 1, "user", "question 3"),
        ("s1:u4", 2, "agent", "answer 3"),
    ]
    assert [message["message"] for message in bodies()[4]["context"]] == [message for *_, message in rows]
    configuration.put("memoryGate.windowSize", 10)
    services.make_samples(ada, "s1", [4], by="root")
    assert contexts.count() == 3


def test_without_a_window_there_is_no_context(ada):
    configuration.put("memoryGate.windowSize", 0)
    store_turns(2)
    services.make_samples(ada, "s1", None, by="root")
    assert bodies()[2]["context"] == []
    assert not ConversationContext.objects.using("agent_ada").exists()


def test_adas_session_is_not_bobs(as_admin, ada, bob):
    store_turns(2, db="agent_bob", session_id="s1")
    assert as_admin.post(URL, {"all": "1"}).status_code == 404
    store_session([user("u1", "of ada"), agent("a1", "yes")])
    as_admin.post(URL, {"all": "1"})
    as_admin.post("/agents/bob/sessions/s1/samples/", {"all": "1"})
    assert sorted(DatasetSample.objects.values_list("agent_id", "turn_number")) == [("ada", 1), ("bob", 1), ("bob", 2)]


@pytest.mark.parametrize("turns", [["one"], ["-1"], ["1", "9" * 30], ["１"]])
def test_something_else_than_turn_numbers_is_refused(as_admin, ada, turns):
    store_turns(1)
    answer = as_admin.post(URL, {"turn": turns})
    assert answer.url == "/agents/ada/sessions/s1/"
    assert read_messages(answer) == ["Turns are identified by their numbers. Select the turns on the session page."]
    assert not DatasetSample.objects.exists()


def test_choosing_nothing_is_refused(as_admin, ada):
    store_turns(1)
    answer = as_admin.post(URL)
    assert answer.url == "/agents/ada/sessions/s1/"
    assert read_messages(answer) == ["Choose at least one turn."]


def test_when_nothing_could_be_made_the_session_says_why(as_admin, ada):
    store_turns(1)
    answer = as_admin.post(URL, {"turn": "7"})
    assert answer.url == "/agents/ada/sessions/s1/"
    assert read_messages(answer) == ["Turn 7: There is no such turn.", "No samples were created."]


def test_a_call_is_bounded(ada, monkeypatch):
    monkeypatch.setattr(services, "MOST_TURNS", 4)
    store_turns(6)
    with pytest.raises(Refused, match="at most 4 turns"):
        services.make_samples(ada, "s1", range(1, 6), by="root")
    first = services.make_samples(ada, "s1", None, by="root")
    assert first.sentence == "4 samples created, 2 turns left: create samples again to continue."
    second = services.make_samples(ada, "s1", None, by="root")
    assert second.sentence == "2 samples created."
    assert sorted(bodies()) == [1, 2, 3, 4, 5, 6]


def test_an_answer_sent_with_a_tool_is_the_reply_of_sample_and_row(as_admin, ada, own_home):
    """In a group the words of the tool `message` are the answer; what the agent says afterwards is private."""
    moments = {"created_at": 0, "last_activity_at": 0}
    Session.objects.using("agent_ada").create(id="s1", session_key="agent:ada:irc:group:#lab", **moments)
    calls = {"type": "toolCall", "id": "c", "name": "message", "arguments": {"action": "send", "message": "At nine."}}
    call = agent("a1", "")
    call["message"]["content"] = [calls]
    outcome = tool_result("r1", '{"ok":true}')
    lines = [user("u1", "When does it leave?"), call, outcome, agent("p1", "I told the group.")]
    lines += [user("u2", "Thanks"), agent("a2", "NO_REPLY")]
    lines += [user("u3", "Anything else?"), agent("a3", "LLM request failed: provider rejected the request schema.")]
    store_session(lines)
    as_admin.post(URL, {"all": "1"})
    sample = DatasetSample.objects.get()
    assert (sample.body["userMessage"], sample.body["agentReply"]) == ("When does it leave?", "At nine.")
    verdicts.label_sample(sample.id, "approved", by="root")
    _manifest, rows = build_and_read("sharegpt")
    assert [message["value"] for message in rows[sample.id]["conversations"]] == ["When does it leave?", "At nine."]


def test_a_sample_keeps_its_words_when_its_turn_has_other_ones(as_admin, ada, own_home):
    store_turns(2)
    as_admin.post(URL, {"all": "1"})
    first, second = DatasetSample.objects.order_by("turn_number")
    for sample in (first, second):
        verdicts.label_sample(sample.id, "approved", by="root")
    turns = ConversationTurn.objects.using("agent_ada").filter(turn_number=1)
    events = TranscriptEvent.objects.using("agent_ada").filter(turn_number=1, kind="assistant")
    events.update(event_json=events.get().event_json.replace("answer 1", "other words"))
    turns.update(agent_message_content="other words")
    counts, _lost = changed_turns.follow_turns(ada, Steps())
    first.refresh_from_db()
    assert (counts["changed"], counts["sent"], first.annotation_status) == (1, 1, "needs_review")
    assert (first.body["agentReply"], first.turn_traits) == ("answer 1", "changed_since")
    verdicts.label_sample(first.id, "approved", by="root")
    assert changed_turns.follow_turns(ada, Steps())[0]["changed"] == 0  # what somebody judged anew stays so
    manifest, rows = build_and_read("sharegpt")
    assert rows.keys() == {second.id} and excluded_samples(manifest) == {"changed_since": [first.id]}
    _manifest, rows = build_and_read("sharegpt", name="two", include=("changed_since",))
    assert rows.keys() == {first.id, second.id}
