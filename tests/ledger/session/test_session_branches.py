"""The table of the branches of a session that were left."""

import re

import pytest

from ledger.transcripts import forks
from tests.homes import user
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
BRANCHES = PAGE + "branches/"
API = "/api/v1/agents/ada/sessions/s1"
pytestmark = pytest.mark.django_db


def test_it_works(client, edited):
    page = get_text(client.get(BRANCHES))
    assert re.findall(rf'href="{PAGE}\?branch=([^"&]+)">', page) == ["r7", "r4"]
    assert "two &lt;b&gt;again" in page
    assert page.count("#r-r2") == 2


def test_thousands_of_forks_are_listed_up_to_a_bound(client):
    store_session(user("one"), *[user(f"try {number}") | {"parentId": "r1"} for number in range(3000)])
    page = get_text(client.get(BRANCHES))
    assert "The latest 200 of 2,999 branches are listed." in page
    assert page.count("?branch=r") == 2 * forks.MAX_BRANCHES


def test_the_api(client, edited):
    answer = client.get(f"{API}/branches").json()
    assert answer["count"] == 2
    assert [item["leaf_id"] for item in answer["items"]] == ["r7", "r4"]
    assert answer["items"][0] | {"ended_at": 0} == {
        "leaf_id": "r7",
        "leaf_seq": 6,
        "first_seq": 4,
        "fork_seq": 1,
        "fork_id": "r2",
        "record_count": 3,
        "ended_at": 0,
        "words": "two <b>again",
    }


def test_they_are_a_tab_of_a_session_that_has_some(client, edited):
    assert f'<a href="{BRANCHES}">Branches</a>' in get_text(client.get(PAGE))
    assert f'<a href="{BRANCHES}" aria-current="page">Branches</a>' in get_text(client.get(BRANCHES))
    store_session(*working_turns(1), session_id="straight")
    assert "Branches" not in get_text(client.get("/agents/ada/sessions/straight/turns/"))
