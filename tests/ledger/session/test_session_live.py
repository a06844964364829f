"""The answers to polls of a session's page, which keep it up to date."""

import json
import re

import pytest

from ledger.collectors.jsonl import Line, parse_line
from ledger.models import Session, TranscriptEvent
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.factories import T0
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
LIVE = PAGE + "live/"
pytestmark = pytest.mark.django_db


def append_records(*records, start, state="live"):
    """Append records with the ids `r<start>` and following; each follows the previous one by default."""
    lines = []
    for number, record in enumerate(records, start=start):
        filled = {"id": f"r{number}", "parentId": f"r{number - 1}", "timestamp": T0 + number * 1000, **record}
        lines.append(parse_line(Line(number * 10, number * 10 + 10, json.dumps(filled).encode())))
    store_transcript("agent_ada", Transcript("s1", "s1.jsonl", T0, state, goes_on=True), iter(lines))


def find_poll_address(response):
    """Find the address that a page polls next; None when it polls no more."""
    match = re.search(r'id="live" hx-get="([^"]+)"', get_text(response))
    return match and match[1].replace("&amp;", "&")


def poll(client, response):
    return client.get(find_poll_address(response), headers={"HX-Request": "true"})


def test_it_works(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    assert poll(client, page).status_code == 204
    append_records(user("and now?"), assistant("better"), start=5)
    news = poll(client, page)
    assert news.status_code == 200
    text = get_text(news)
    assert 'data-announce="2 new records"' in text
    assert 'hx-swap-oob="beforeend:#transcript"' in text
    assert '<section class="turn" id="t-2">' in text
    assert "2 turns, 6 records" in text
    assert poll(client, news).status_code == 204


def test_a_poll_that_finds_nothing_is_one_small_read(client, django_assert_num_queries):
    store_session(*working_turns(30))
    address = find_poll_address(client.get(PAGE + "?before=120"))
    with django_assert_num_queries(1, using="agent_ada"), django_assert_num_queries(3):  # session, user, agent
        assert client.get(address).status_code == 204


def test_a_turn_that_goes_on_is_continued_in_its_place(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    append_records(assistant("one more thing"), start=5)
    text = get_text(poll(client, page))
    assert 'hx-swap-oob="beforeend:#t-1"' in text
    assert 'id="sums-t-1" hx-swap-oob="true"' in text
    assert "beforeend:#transcript" not in text


def test_a_result_takes_its_place_under_its_call(client):
    store_session(user("go"), assistant("", ("a", "exec", {}), ("b", "exec", {})))
    page = client.get(PAGE)
    append_records(result("a", "first output"), start=3)
    first = poll(client, page)
    assert '<article hx-swap-oob="true" class="record record--agent" id="r-r2">' in get_text(first)
    assert "first output" in get_text(first)
    append_records(result("b", "second output"), assistant("done"), start=4)
    second = get_text(poll(client, first))
    assert "first output" in second
    assert "second output" in second
    assert re.findall(r'<article class="[^"]+" id="r-([^"]+)"', second) == ["r5"]


def test_a_page_that_does_not_go_to_the_end_says_how_many_wait(client):
    store_session(*working_turns(40))
    page = client.get(PAGE)
    for number in range(2):
        append_records(user("more"), start=161 + number)
        page = poll(client, page)
    text = get_text(page)
    assert "2 new records at the end" in text
    assert "beforeend" not in text
    assert poll(client, page).status_code == 204


def test_many_new_records_come_in_parts(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    append_records(*[user(f"q{number}") for number in range(200)], start=5)
    text = get_text(poll(client, page))
    assert 'data-announce="80 new records"' in text
    link = re.search(r'hx-get="([^"]+)"[^>]*>Show more records', text)[1].replace("&amp;", "&")
    assert link == "?after=83"
    assert 'id="r-r85"' in get_text(client.get(PAGE + link, headers={"HX-Request": "true"}))


def test_links_of_what_is_new_keep_the_branch(client):
    store_session(*working_turns(1))
    page = client.get(PAGE + "?branch=all&before=4")
    append_records(*[user(f"q{number}") for number in range(200)], start=5)
    assert 'hx-get="?branch=all&amp;after=83"' in get_text(poll(client, page))


def test_another_branch_is_no_continuation(client):
    store_session(*working_turns(2))
    page = client.get(PAGE)
    append_records(user("rather this") | {"parentId": "r4"}, start=9)
    news = poll(client, page)
    assert news.status_code == 286
    assert "are now on another branch" in get_text(news)
    assert find_poll_address(news) is None
    every = client.get(PAGE + "?branch=all&before=9")
    append_records(assistant("yes"), start=10)
    assert 'id="r-r10"' in get_text(poll(client, every))


def test_a_session_that_was_read_anew_is_reloaded(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    TranscriptEvent.objects.using("agent_ada").filter(event_id="r4").update(event_id="other")
    append_records(user("x"), start=5)
    assert poll(client, page).status_code == 286


def test_a_session_that_is_gone_ends_the_polls(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    Session.objects.using("agent_ada").all().delete()
    assert poll(client, page).status_code == 286


def test_a_session_that_was_reset_ends_the_polls(client):
    store_session(*working_turns(1))
    page = client.get(PAGE)
    append_records(user("last words"), start=5, state="reset")
    news = poll(client, page)
    assert news.status_code == 286
    assert "last words" in get_text(news)
    assert "This session has ended" in get_text(news)
    assert find_poll_address(client.get(PAGE)) is None


@pytest.mark.parametrize("query", ["?kind=user", "?find=question", "turns/", "?branch=r2"])
def test_what_does_not_grow_does_not_ask(client, query):
    store_session(user("q"), assistant("a"), user("question") | {"parentId": None}, assistant("b"))
    assert find_poll_address(client.get(PAGE + query)) is None


@pytest.mark.parametrize(
    "query",
    ["live=x", "live=1", "live=1&count=1&base=1&into=%23x", f"live={2**80}&count=1&base=1", "live=1&count=-1&base=0"],
)
def test_a_poll_that_nobody_wrote_is_refused(client, query):
    store_session(*working_turns(1))
    assert client.get(f"{LIVE}?{query}").status_code == 409
