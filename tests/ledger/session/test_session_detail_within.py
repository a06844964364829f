"""Filters within a session."""

import re

import pytest

from ledger.session import record_filter
from tests.homes import assistant, result, user
from tests.ledger.list_pages import find_link, read_pages
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    """Something of every kind."""
    thought = {"type": "thinking", "thinking": "Secretly I wonder"}
    thinking = {"type": "message", "message": {"role": "assistant", "content": [thought], "model": "m"}}
    return store_session(
        user("Please remember 请记住 that I like tea"),  # r1
        assistant("", ("w", "write", {"path": "/home/x/workspace/MEMORY.md", "content": "tea"})),
        result("w", "written", name="write"),
        thinking,  # r4
        user("Now run it"),
        assistant("", ("e", "exec", {"command": "make ALL"})),
        result("e", "boom", details={"exitCode": 3}),  # r7
        assistant("It failed."),
        {"type": "compaction", "summary": "What was said", "firstKeptEntryId": "r5", "tokensBefore": 5},
        assistant("", ("p", "apply_patch", {"input": "*** Begin\n*** Update File: memory/2026-02-01.md\n+tea"})),
        result("p", "patched", name="apply_patch"),
        assistant("", ("o", "write", {"path": "notes.md", "content": "MEMORY.md"})),
        result("o", "written", name="write"),
    )


def records(response):
    return re.findall(r'<article[^>]* id="r-([^"]+)"', get_text(response))


@pytest.mark.parametrize(
    ("query", "record_ids"),
    [
        ("kind=errors", ["r6"]),
        ("kind=tools", ["r2", "r6", "r10", "r12"]),
        ("kind=user", ["r1", "r5"]),
        ("kind=thinking", ["r4"]),
        ("kind=compactions", ["r9"]),
        ("kind=memory", ["r2", "r10"]),
        ("tool=exec", ["r6"]),
        ("tool=write", ["r2", "r12"]),
        ("tool=write&kind=errors", []),
        ("find=TEA", ["r1", "r2", "r10"]),
        ("find=请记住", ["r1"]),
        ("find=like+remember", ["r1"]),
        ("find=boom", ["r6"]),
        ("find=make+all", ["r6"]),
        ("find=wonder&kind=thinking", ["r4"]),
        ("find=nowhere", []),
    ],
)
def test_it_works(client, session, query, record_ids):
    page = client.get(f"{PAGE}?{query}")
    assert records(page) == record_ids
    assert ("No matches" in get_text(page)) == (not record_ids)


def test_a_hit_comes_with_its_call_and_leads_to_its_place(client, session):
    page = get_text(client.get(PAGE + "?kind=errors"))
    assert "make ALL" in page
    assert "boom" in page
    assert '/sessions/s1/?record=r7#r-r7"' in page


def test_filters_are_chips_that_can_be_taken_away(client, session):
    page = get_text(client.get(PAGE + "?kind=user&find=tea&branch=all"))
    chips = re.findall(r'class="chip" href="([^"]+)"', page)
    assert chips == ["?branch=all&amp;find=tea", "?branch=all&amp;kind=user"]


def test_pages_follow_each_other_in_both_directions(client):
    store_session(*working_turns(100))
    expected = [f"r{number}" for number in range(1, 401, 4)]
    assert read_pages(client, PAGE, records, "Search later records", "?kind=user") == expected
    assert read_pages(client, PAGE, records, "Search earlier records", "?kind=user&before=400") == expected


def test_a_search_stops_at_its_window_and_goes_on(client, monkeypatch):
    monkeypatch.setattr(record_filter, "WINDOW", 100)
    store_session(*working_turns(49), user("the needle"))
    page = client.get(PAGE + "?find=needle")
    assert "100 records were searched. Use the button below" in get_text(page)
    assert records(client.get(PAGE + find_link(page, "Search later records"))) == ["r197"]


def test_htmx_gets_the_hits_only(client, session):
    part = get_text(client.get(PAGE + "?kind=user&after=1", headers={"HX-Request": "true"}))
    assert "<html" not in part
    assert 'id="r-r5"' in part


@pytest.mark.parametrize("query", ["find=%00", "find=%22%5C", "tool=%F0%9F%98%80", "find=" + "x" * 200, "tool=%25"])
def test_odd_words_find_nothing(client, session, query):
    assert client.get(f"{PAGE}?{query}").status_code in (200, 409)


def test_hostile_words_are_shown_as_words(client, session):
    page = get_text(client.get(PAGE, {"find": "<script>\u202e", "tool": "<img src=x>"}))
    assert "<script>\u202e" not in page
    assert "<img src=x>" not in page


@pytest.mark.parametrize("query", ["kind=errors", "kind=tools", "find=question", "tool=exec"])
def test_the_number_of_queries_does_not_grow(client, django_assert_max_num_queries, query):
    for session_id, count in (("short", 1), ("long", 30)):
        store_session(*working_turns(count), session_id=session_id)
        with django_assert_max_num_queries(10, using="agent_ada"):
            client.get(f"/agents/ada/sessions/{session_id}/?{query}")
