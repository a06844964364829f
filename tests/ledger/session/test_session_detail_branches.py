"""Branches of a session: offered where they fork off, read as one conversation."""

import re

import pytest

from tests.homes import assistant, user
from tests.ledger.list_pages import read_pages
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/"
API = "/api/v1/agents/ada/sessions/s1"
pytestmark = pytest.mark.django_db


def records(response):
    return re.findall(r'id="r-([^"]+)"', get_text(response))


def test_a_branch_is_read_from_the_root_to_its_leaf(client, edited):
    assert records(client.get(PAGE + "?branch=r7")) == ["r1", "r2", "r5", "r6", "r7"]
    page = client.get(PAGE + "?branch=r4")
    assert records(page) == ["r1", "r2", "r3", "r4"]
    assert "2 records after the fork" in get_text(page)
    assert "record--aside" not in get_text(page)


def test_the_fork_offers_the_others(client, edited):
    page = get_text(client.get(PAGE))
    assert "2 other branches from here:" in page
    assert "?branch=r7&amp;record=r2#r-r2" in page
    other = get_text(client.get(PAGE + "?branch=r7"))
    assert "current branch" in other
    assert "?branch=r4&amp;record=r2" in other
    assert "?branch=r7&amp;record" not in other


def test_a_lonely_branch_leads_back(client):
    store_session(user("one"), assistant("1"), user("two"), user("two, please") | {"parentId": "r2"})
    assert "current branch" in get_text(client.get(PAGE + "?branch=r3"))


def test_the_fork_link_stays_on_its_branch(client, edited):
    assert records(client.get(PAGE + "?branch=r7&record=r2")) == ["r1", "r2", "r5", "r6", "r7"]
    assert records(client.get(PAGE + "?branch=r7&turn=1"))[-1] == "r7"


def test_a_place_on_another_branch_shows_every_branch(client, edited):
    assert records(client.get(PAGE + "?branch=r7&record=r4")) == [f"r{number}" for number in range(3, 10)]


def test_a_branch_that_is_not_there_says_so(client, edited):
    page = client.get(PAGE, {"branch": "<b>gone"})
    assert "No branch of this session ends with &lt;b&gt;gone" in get_text(page)
    assert records(page) == ["r1", "r2", "r8", "r9"]


def test_a_session_can_have_two_beginnings(client):
    store_session(user("first try"), assistant("1"), user("second try") | {"parentId": None}, assistant("2"))
    page = get_text(client.get(PAGE))
    assert "1 other branch from here" in page
    assert records(client.get(PAGE + "?branch=r2")) == ["r1", "r2"]


def test_a_long_branch_comes_in_parts(client):
    store_session(
        *working_turns(40), *[user("again") | {"parentId": "r80"} if n == 0 else assistant(f"{n}") for n in range(5)]
    )
    expected = [f"r{number}" for number in range(1, 161)]
    assert read_pages(client, PAGE, records, "Show more records", "?branch=r160") == expected
    assert read_pages(client, PAGE, records, "Show earlier records", "?branch=r160&before=165") == expected


@pytest.mark.parametrize("branch", ["r1", "r2", "r3"])
def test_a_loop_in_a_damaged_file_ends(client, branch):
    loop = [user("a") | {"parentId": "r3"}, assistant("b"), assistant("c"), user("fine") | {"parentId": None}]
    store_session(*loop)
    for query in ("", "branches/", "?branch=all", f"?branch={branch}"):
        assert client.get(PAGE + query).status_code == 200


def test_one_of_thousands_of_forks_is_read(client):
    store_session(user("one"), *[user(f"try {number}") | {"parentId": "r1"} for number in range(3000)])
    assert client.get(PAGE).status_code == 200
    assert records(client.get(PAGE + "?branch=r500")) == ["r1", "r500"]


class TestApi:
    def test_the_events_of_one_branch(self, client, edited):
        items = client.get(f"{API}/events?branch=r7").json()["items"]
        assert [item["record_id"] for item in items] == ["r1", "r2", "r5", "r6", "r7"]
        assert client.get(f"{API}/events?branch=nowhere").status_code == 409

    @pytest.mark.parametrize(
        ("query", "record_ids"),
        [
            ("kind=tool_result", ["r7"]),
            ("tool=exec", ["r7"]),
            ("failed=true", []),
            ("kind=user&failed=false", ["r1", "r3", "r5", "r8"]),
        ],
    )
    def test_filters_of_events(self, client, edited, query, record_ids):
        items = client.get(f"{API}/events?branch=all&{query}").json()["items"]
        assert [item["record_id"] for item in items] == record_ids

    def test_a_kind_that_does_not_exist_is_refused(self, client, edited):
        assert client.get(f"{API}/events?kind=nonsense").status_code == 422
