"""The list of events shows one scope at a time."""

import json

import pytest

from tests.episodes.ledger_events import store_event
from tests.factories import T0
from tests.ledger.transcript_records import get_text

PAGE = "/agents/ada/episodes/scope/"
pytestmark = pytest.mark.django_db


def read_ids(answer):
    return [row["event_id"] for row in answer.context["parts"][0]["rows"]]


@pytest.fixture
def events(ada):
    """Events of two scopes in one session."""
    for number in range(3):
        store_event(event_id=f"a{number}", scope="alpha", ts_ms=T0 + number, summary=f"今天我们买面包 {number}")
    store_event(event_id="b0", scope="beta", summary="面包")


@pytest.mark.parametrize("query", ["", "&session=s1", "&q=面包", "&session=s1&q=面包", "&type=conversation.user"])
def test_no_filter_shows_another_scope(as_stranger, events, query):
    assert read_ids(as_stranger.get(f"{PAGE}?scope=alpha{query}")) == ["a2", "a1", "a0"]
    rows = json.loads(as_stranger.get(f"{PAGE}?scope=alpha{query}&format=json").getvalue())
    assert {row["scope"] for row in rows} == {"alpha"} and len(rows) == 3


def test_a_scope_is_normalized_and_required(as_stranger, events):
    assert read_ids(as_stranger.get(PAGE, {"scope": " ALPHA "})) == ["a2", "a1", "a0"]
    answer = as_stranger.get(PAGE)
    assert answer.status_code == 400 and "Choose a scope" in get_text(answer)
    assert 'href="/agents/ada/episodes/"' in get_text(answer)
    assert as_stranger.get(PAGE, {"scope": "面包"}).status_code == 409


def test_redacted_events_have_no_words_and_are_not_found(as_stranger, ada):
    store_event(event_id="r", summary="the secret bread", is_redacted=True)
    page = as_stranger.get(f"{PAGE}?scope=global")
    assert "[REDACTED]" in get_text(page) and "secret bread" not in get_text(page)
    assert read_ids(as_stranger.get(f"{PAGE}?scope=global&q=REDACTED")) == []
    assert b"[REDACTED]" in as_stranger.get(f"{PAGE}?scope=global&format=csv").getvalue()


def test_rows_lead_to_the_event_and_its_session(as_stranger, ada):
    store_event(event_id="a/b?c", session_id="s/1")
    page = get_text(as_stranger.get(f"{PAGE}?scope=global"))
    assert 'href="../event/a%2Fb%3Fc/?scope=global"' in page and 'href="../replay/s%2F1/?scope=global"' in page
    assert as_stranger.get("/agents/ada/episodes/event/a%2Fb%3Fc/?scope=global").status_code == 200
    assert "a%2Fb%3Fc" not in get_text(as_stranger.get("/agents/ada/episodes/replay/s%2F1/?scope=beta"))
