"""One decision in the API, and lists of decisions with their windows."""

import pytest

from tests.gate.decision_rows import create_decision, create_turns, store_window
from tests.ledger.transcript_records import get_text

API = "/api/v1/agents/ada/gate/decisions"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(ada):
    return create_turns()


def test_one_with_its_turn_and_what_the_gate_saw(as_stranger, turns):
    create_decision(
        1, window_hash=store_window("Earlier", user=None), sources=3, saw_user=False, is_window_derived=True
    )
    answer = as_stranger.get(f"{API}/d1").json()
    assert (answer["turn"]["id"], answer["turn"]["user_message_content"]) == ("s1:u1", "Question 1")
    assert (answer["sources"], answer["context_state"]) == (["api", "log"], "derived")
    assert [message["message"] for message in answer["context"]["recent_messages"]] == ["Earlier"]
    assert (answer["context"]["current_user_message"], answer["context"]["current_agent_reply"]) == (None, "The answer")


def test_without_a_turn_and_a_window(as_stranger, turns):
    create_decision(1, turn_id=None)
    create_decision(2, window_hash="0" * 64)
    answers = [as_stranger.get(f"{API}/{name}").json() for name in ("d1", "d2")]
    assert [(answer["context_state"], answer["context"]) for answer in answers] == [("unknown", None), ("lost", None)]
    assert answers[0]["turn"] is None


def test_the_response_is_for_operators(as_stranger, as_operator, turns):
    create_decision(1, raw_response="the answer")
    answers = [client.get(f"{API}/d1").json() for client in (as_stranger, as_operator)]
    assert [answer["raw_response"] for answer in answers] == [None, "the answer"]
    assert all(answer["has_raw_response"] for answer in answers)
    assert "the answer" not in get_text(as_operator.get(API))
    assert as_operator.get(API).json()["items"][0]["has_raw_response"]


def test_a_list_with_what_the_gate_saw(as_stranger, turns):
    create_decision(1, window_hash=store_window("Earlier")), create_decision(2)
    items = as_stranger.get(f"{API}?withContext=true").json()["items"]
    assert [item["context_state"] for item in items] == ["unknown", "told"]
    assert items[1]["context"]["recent_messages"][0]["message"] == "Earlier"
    assert [item["context_state"] for item in as_stranger.get(API).json()["items"]] == [None, None]


def test_a_page_ends_before_its_texts_get_too_long(as_stranger, turns):
    for number in range(3):
        create_decision(number, window_hash=store_window(f"{number}" * 900_000))
    first = as_stranger.get(f"{API}?with_context=true").json()
    assert [item["id"] for item in first["items"]] == ["d2", "d1"]
    rest = as_stranger.get(f"{API}?with_context=true&after={first['next']}").json()
    assert ([item["id"] for item in rest["items"]], rest["next"]) == (["d0"], None)
    lines = as_stranger.get(f"{API}?with_context=true&format=jsonl").getvalue().splitlines()
    assert len(lines) == 3


def test_a_list_has_responses_for_operators_who_ask(as_operator, as_stranger, turns):
    create_decision(1, raw_response="the answer"), create_decision(2)
    address = f"{API}?withResponse=true"
    assert [row["raw_response"] for row in as_operator.get(address).json()["items"]] == [None, "the answer"]
    for answer in (as_stranger.get(address), as_operator.get(API)):
        assert [row["raw_response"] for row in answer.json()["items"]] == [None, None]
        assert answer.json()["items"][1]["has_raw_response"]
