"""The sub-agent runs of an agent."""

import re

import orjson
import pytest

from tests.factories import T0, SessionFactory, SubagentRunFactory

ADA = "/agents/ada/subagents/"
API = "/api/v1/agents/ada/subagents"
pytestmark = pytest.mark.django_db


def list_run_ids(response):
    return [run.run_id for run in response.context["runs"]]


def test_it_works(client):
    SessionFactory(id="asker", session_key="agent:main:main", created_at=T0)
    SessionFactory(id="helper", session_key="agent:main:subagent:r1", created_at=T0)
    SubagentRunFactory(run_id="r1", created_at=T0 + 1_000, ended_at=T0 + 9_300)
    page = client.get(ADA).text
    for words in ("counter", "count the files", "agent:main:main", "Finished", "8.3 s"):
        assert words in page
    assert '<a href="/agents/ada/sessions/asker/">' in page
    assert '<a href="/agents/ada/sessions/helper/">' in page


def test_adas_page_does_not_show_bobs_runs(client):
    SubagentRunFactory(run_id="bobs", agent_id="bob")
    assert list_run_ids(client.get(ADA)) == []
    assert list_run_ids(client.get("/agents/bob/subagents/")) == ["bobs"]
    assert list_run_ids(client.get("/agents/bob/subagents/", {"session": "agent:main:main"})) == ["bobs"]
    assert list_run_ids(client.get(ADA, {"session": "agent:main:main"})) == []
    assert client.get("/agents/eve/subagents/").status_code == 404


def test_without_runs_it_says_what_will_be_here(client):
    assert "No sub-agents yet" in client.get(ADA).text
    assert "No sub-agent runs" in client.get(ADA, {"session": "nobody"}).text


def test_a_session_shows_its_runs_on_either_side(client):
    SessionFactory(id="s1", session_key="agent:main:x")
    SubagentRunFactory(run_id="asked", requester_session_key="agent:main:x")
    SubagentRunFactory(run_id="is", child_session_key="agent:main:x", agent_id="bob")
    SubagentRunFactory(run_id="other")
    for session in ("s1", "agent:main:x"):
        assert sorted(list_run_ids(client.get(ADA, {"session": session}))) == ["asked", "is"]
    assert 'class="chip" href="?"' in client.get(ADA, {"session": "s1"}).text


def test_sessions_are_named_by_their_titles_and_by_their_keys_without_one(client):
    SessionFactory(id="asker", session_key="agent:main:main", title="[cron:1-2 Morning orders] Check the orders")
    SubagentRunFactory(run_id="named", requester_session_key="agent:main:main", created_at=T0)
    SubagentRunFactory(run_id="nameless", requester_session_key="agent:main:gone", created_at=T0)
    page = client.get(ADA).text
    for words in (">Check the orders</a>", 'title="agent:main:main"', ">agent:main:gone</span>"):
        assert words in page


@pytest.mark.parametrize("session", ["a\0b", "x" * 5_000, "<b>\u202e", "\ud83d"])
def test_strange_sessions_find_nothing(client, session):
    page = client.get(ADA, {"session": session.encode("utf-8", "surrogatepass")})
    assert page.status_code == 200 and "<b>" not in page.text


def test_the_session_of_a_key_is_the_one_of_that_time(client):
    for number in range(3):
        SessionFactory(id=f"day-{number}", session_key="agent:main:main", created_at=T0 + number * 1_000)
    SubagentRunFactory(run_id="r", created_at=T0 + 1_500)
    assert '<a href="/agents/ada/sessions/day-1/">' in client.get(ADA).text


@pytest.mark.parametrize(
    ("payload", "ended_at", "expected"),
    [
        ({"outcome": {"status": "error", "error": "out of tokens"}}, T0, "out of tokens"),
        ({"outcome": {"status": "timeout"}}, T0, ">Timed out<"),
        ({"endedReason": "subagent-killed"}, T0, ">subagent-killed<"),
        ({}, T0, ">Ended<"),
        ({}, None, ">Not finished<"),
    ],
)
def test_states(client, payload, ended_at, expected):
    SubagentRunFactory(payload_json=orjson.dumps(payload).decode(), ended_at=ended_at)
    assert expected in client.get(ADA).text


@pytest.mark.parametrize("payload", ["", "[]", "not json", '{"task":7,"label":[],"outcome":"x"}', "null"])
def test_a_damaged_payload_stops_nothing(client, payload):
    SubagentRunFactory(payload_json=payload, created_at=0, child_session_key="", requester_session_key="")
    assert client.get(ADA).status_code == 200
    assert client.get(API).status_code == 200


def test_what_a_run_says_is_shown_and_does_nothing(client):
    hostile = "<script>alert(1)</script>\u202e\x1b[2J"
    payload = {"task": hostile, "label": hostile, "outcome": {"status": hostile, "error": hostile}}
    SubagentRunFactory(payload_json=orjson.dumps(payload).decode(), requester_session_key=hostile)
    page = client.get(ADA).text
    assert not [odd for odd in ("<script>alert", "\u202e", "\x1b") if odd in page]


def test_big_payloads_end_a_page_early(client):
    SubagentRunFactory.create_batch(5, payload_json=orjson.dumps({"task": "x" * 600_000}).decode())
    page = client.get(ADA)
    assert len(list_run_ids(page)) == 1 and len(page.content) < 100_000
    assert re.search(r'href="\?after=[^"]+" rel="next"', page.text)


def test_the_api_says_the_same(client):
    SessionFactory(id="asker", session_key="agent:main:main", created_at=T0)
    SubagentRunFactory(run_id="r1", created_at=T0 + 1, ended_at=T0 + 11)
    SubagentRunFactory(run_id="r2", requester_session_key="agent:main:other", created_at=T0)
    run, other = client.get(API).json()["items"]
    assert (run["run_id"], run["task"], run["outcome"], run["duration_ms"]) == ("r1", "count the files", "ok", 10)
    assert run["requester"] == {"key": "agent:main:main", "session_id": "asker"}
    assert other["child"]["session_id"] is None
    assert [run["run_id"] for run in client.get(API, {"session": "asker"}).json()["items"]] == ["r1"]
