"""The list of an agent's sessions."""

import re

import pytest

from openclaw_web.lists import list_response
from tests.factories import T0, SessionFactory
from tests.ledger.list_pages import read_pages
from tests.ledger.transcript_records import get_text

ADA = "/agents/ada/sessions/"
pytestmark = pytest.mark.django_db


def read_session_ids(response):
    """Read the ids of the sessions on a page, in order."""
    return re.findall(
        r'<tr>\s*<td class="wide"><a class="clamp" href="/agents/ada/sessions/([^"]+)/">', get_text(response)
    )


def test_it_works(client):
    SessionFactory(id="old", title="The nightly import", turn_count=3, error_count=2, total_tokens=4200, cost_usd=0.02)
    SessionFactory(id="new", title="", source_state="reset", channel_id="telegram", origin="group")
    page = client.get(ADA)
    assert read_session_ids(page) == ["new", "old"]
    for words in ("2 sessions of ada", "The nightly import", "4.2k", "$0.02", "telegram", "group", "Reset"):
        assert words in get_text(page)


def test_a_chip_takes_only_its_own_filter_away(client):
    SessionFactory(channel_id="telegram", error_count=1)
    page = get_text(client.get(f"{ADA}?channel=telegram&errors=on&after="))
    assert 'class="chip" href="?errors=on"' in page
    assert 'class="chip" href="?channel=telegram"' in page


def test_a_filter_that_fits_nothing_says_so(client):
    SessionFactory()
    page = get_text(client.get(f"{ADA}?channel=nowhere"))
    assert "No matches for these filters" in page
    assert '<option value="nowhere" selected>' in page


def test_a_search_ends_after_a_while_and_goes_on_when_asked(client, monkeypatch):
    monkeypatch.setattr("ledger.lists.session_list.WINDOW", 10)
    SessionFactory.create_batch(24, title="dull")
    SessionFactory(id="hit-1", title="bright", last_activity_at=1)
    SessionFactory(id="hit-2", title="bright", last_activity_at=T0 * 2)
    first = client.get(f"{ADA}?q=bright")
    assert read_session_ids(first) == ["hit-2"]
    assert "10 rows were searched" in get_text(first)
    assert read_pages(client, ADA, read_session_ids, query="?q=bright") == ["hit-2", "hit-1"]


def test_a_search_across_equal_times_loses_nothing(client, monkeypatch):
    monkeypatch.setattr("ledger.lists.session_list.WINDOW", 7)
    SessionFactory.create_batch(40, title="same moment", last_activity_at=T0)
    ids = read_pages(client, ADA, read_session_ids, query="?q=moment")
    assert len(ids) == len(set(ids)) == 40


def test_percent_and_underscore_are_letters_like_others(client):
    SessionFactory(id="wanted", title="100 % done_now")
    SessionFactory(id="other", title="100 of them doneXnow")
    assert read_session_ids(client.get(ADA, {"q": "% done_"})) == ["wanted"]


def test_a_big_number_of_sessions_is_not_counted(client, monkeypatch):
    monkeypatch.setattr(list_response, "COUNTING_MS", -1)
    SessionFactory.create_batch(1500)
    text = get_text(client.get(ADA))
    assert re.search(r'<span id="list-count" class="list-count">At least \S+</span>', text)
    assert '<h1><span id="list-title">Sessions of ada</span>' in text  # as it is once all are counted


def test_a_download_asks_once_for_each_batch_and_keeps_no_cursor_open(client, django_assert_num_queries):
    SessionFactory.create_batch(1_100)
    response = client.get(f"{ADA}?format=csv")
    with django_assert_num_queries(3, using="agent_ada"):
        assert response.getvalue().count(b"\r\n") == 1_101


def test_the_head_of_the_column_in_order_says_so(client):
    SessionFactory(cost_usd=1)
    assert 'aria-sort="ascending"><a href="?sort=-cost">' in get_text(client.get(f"{ADA}?sort=cost"))


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("errors=on", "Only with errors"),
        ("q=flour", "Title: flour"),
        ("cost=0.5", "Minimum cost: $0.5"),
        ("cost=1250000", "Minimum cost: $1,250,000"),
        ("tokens=1000", "Minimum tokens: 1,000"),
        ("channel=irc", "Channel: IRC"),
        ("origin=direct", "Origin: Direct message"),
    ],
)
def test_a_chip_says_what_is_shown(client, query, label):
    page = get_text(client.get(f"{ADA}?{query}"))
    [chip] = re.findall(r'<a class="chip" href="\?[^"]*">(.*?)<span class="visually-hidden">', page, re.DOTALL)
    assert " ".join(re.sub(r"<[^>]+>", "", chip).split()) == label
