"""The page of one call."""

import pytest

from tests.factories import GateCallFactory
from tests.gate.decision_rows import create_turns, store_window
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/gate/calls/", "/api/v1/agents/ada/gate/calls/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def call(ada):
    create_turns()
    columns = {"session_id": "s1", "turn_id": "s1:u1", "prompt_version": "v1", "window_hash": store_window("Earlier")}
    return GateCallFactory(id="c1", raw_response="Sure! I would", decision_id="d1", **columns)


def test_it_works(as_operator, call):
    page = get_text(as_operator.get(f"{ADA}c1/"))
    for words in ("The endpoint did not answer.", "timeout", "Earlier", "Sure! I would", "The nightly import"):
        assert words in page
    for address in ("/agents/ada/gate/d1/", "/agents/ada/gate/prompts/v1/", "/agents/ada/sessions/s1/?turn=1"):
        assert f'href="{address}"' in page


def test_what_came_back_is_for_operators(as_stranger, as_operator, call):
    page = get_text(as_stranger.get(f"{ADA}c1/"))
    assert "Operators can see" in page and "Sure!" not in page
    answers = [client.get(f"{API}c1").json() for client in (as_stranger, as_operator)]
    assert [answer["raw_response"] for answer in answers] == [None, "Sure! I would"]
    assert all(answer["has_raw_response"] for answer in answers)


def test_a_call_that_nobody_heard_of_again(as_stranger, ada):
    GateCallFactory(id="c1", outcome="sent", reason="", failure="")
    page = get_text(as_stranger.get(f"{ADA}c1/"))
    assert "How this call ended is not known" in page and "What the model was sent is not known." in page


def test_one_that_is_not_there_leads_on(as_stranger, call, bob):
    page = as_stranger.get("/agents/bob/gate/calls/c1/")
    assert page.status_code == 404
    assert "There is no gate call c1." in get_text(page) and 'href="/agents/bob/gate/calls/"' in get_text(page)
    assert as_stranger.get(f"{API}nothing").status_code == 404
