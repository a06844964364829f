"""The table of the turns of a session."""

import re

import orjson
import pytest

from tests.factories import SessionFactory
from tests.homes import assistant, user
from tests.ledger.list_pages import read_pages
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
TURNS = PAGE + "turns/"
pytestmark = pytest.mark.django_db


def test_it_works(client):
    store_session(*working_turns(3))
    page = get_text(client.get(TURNS))
    assert re.findall(r'<th scope="row"[^>]*><a href="([^"]+)">', page) == [f"{PAGE}?turn={n}#t-{n}" for n in (1, 2, 3)]
    for words in ("question 2", "fake-gpt", "3.0 s", "$0.02", "200"):
        assert words in page


def test_pages_follow_each_other(client):
    store_session(*working_turns(250))

    def numbers(response):
        return re.findall(r'<th scope="row"[^>]*><a href="[^"]+">(\d+)', get_text(response))

    assert read_pages(client, TURNS, numbers) == [str(number) for number in range(1, 251)]


def test_a_session_without_turns_says_so(client):
    SessionFactory(id="s1")
    assert "No turns" in get_text(client.get(TURNS))


def test_a_cursor_of_another_list_is_refused(client):
    store_session(*working_turns(1))
    assert client.get(TURNS + "?after=xyz").status_code == 409


def test_turns_of_other_branches_are_there_when_asked_for(client):
    store_session(*working_turns(2), user("rather this") | {"parentId": "r4"})
    assert "question 2" not in get_text(client.get(TURNS))
    page = get_text(client.get(TURNS + "?branch=all"))
    assert f'href="{PAGE}?turn=2&amp;branch=all#t-2"' in page
    assert client.get(TURNS + "?branch=other").status_code == 409


def test_a_turn_is_gone_to_in_the_transcript(client):
    store_session(*working_turns(1))
    page = get_text(client.get(TURNS))
    assert f'action="{PAGE}" role="search"' in page
    assert f'<a href="{PAGE}">Transcript</a>' in page
    assert f'<a href="{TURNS}" aria-current="page">Turns</a>' in page


def test_the_api_tells_what_was_recorded_beside_the_words(as_stranger, ada):
    own = {"senderId": "u1", "senderName": "Mei"}
    session = store_session(user("Hello", __openclaw=own), assistant("Hi.", stopReason="stop"), session_id="s9")
    index = {"chatType": "direct", "status": "done"}
    session.metadata = orjson.dumps(index).decode()
    session.save(using="agent_ada")
    assert as_stranger.get("/api/v1/agents/ada/sessions/s9").json()["metadata"] == index
    assert "metadata" not in as_stranger.get("/api/v1/agents/ada/sessions").json()["items"][0]
    for address in ("/api/v1/agents/ada/sessions/s9/turns", "/api/v1/agents/ada/turns?session=s9"):
        [turn] = as_stranger.get(address).json()["items"]
        assert turn["user_metadata"]["senderId"] == "u1" and turn["agent_metadata"]["stopReason"] == "stop"
    session.metadata = None
    session.save(using="agent_ada")
    assert as_stranger.get("/api/v1/agents/ada/sessions/s9").json()["metadata"] == {}
