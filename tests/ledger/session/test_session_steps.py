"""The steps of a session's runs: the page of a session, the API."""

import hashlib
import re

import pytest

from overview.models import AgentSummary
from tests.factories import T0, SessionFactory
from tests.homes import assistant, result, user
from tests.ledger.list_pages import read_pages
from tests.ledger.transcript_records import store_session, store_step

PAGE = "/agents/ada/sessions/s1/"
STEPS = PAGE + "steps/"
API = "/api/v1/agents/ada/sessions/s1/steps"
HANDLE = f"ocm_artifact:v1:sha256:{'ab' * 32}"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def session(ada):
    return SessionFactory(id="s1")


def test_it_works(client):
    store_step(1, type="context.compiled", about={"tools": HANDLE, "systemPrompt": HANDLE})
    store_step(2, about={"stopReason": "stop", "usage": {"input": 12004, "output": 43, "cost": 0.25}})
    store_step(3, type="tool.result", about={"name": "exec", "success": False})
    assert f'href="{STEPS}"' in client.get(PAGE).text
    page = client.get(STEPS).text
    for words in ("context.compiled", "Tool schemas", "System prompt", "12.0k", "$0.25", "stop", "exec", "failed"):
        assert words in page
    assert f"/agents/ada/artifacts/{'ab' * 32}/" in page
    assert page.index("context.compiled") < page.index("model.completed") < page.index("tool.result")


def test_the_api(client):
    store_step(1, about={"tools": HANDLE})
    store_step(2, created_at=0)
    items = client.get(API).json()["items"]
    assert [item["created_at"] for item in items] == [None, T0 + 1]
    assert items[1]["about"] == {"tools": HANDLE}
    assert client.get(API.replace("s1", "other")).status_code == 404


def test_a_session_without_steps_has_no_such_view_to_choose(client):
    assert STEPS not in client.get(PAGE).text
    assert "No steps" in client.get(STEPS).text


def test_pages(client):
    for number in range(1, 231):
        store_step(number, created_at=T0)
    seen = read_pages(client, STEPS, lambda page: re.findall(r"steps/id(\d+)/", page.text))
    assert seen == [str(number) for number in range(1, 231)]
    first = client.get(API, {"limit": 3}).json()
    assert [item["seq"] for item in client.get(API, {"limit": 2, "after": first["next"]}).json()["items"]] == [4, 5]
    for place in ("nonsense", "W10", "WzEsMiwzXQ", "W251bGwsMSwiYSJd"):
        assert client.get(STEPS, {"after": place}).status_code < 500
        assert client.get(API, {"after": place}).status_code in (200, 409)


def test_a_call_has_the_duration_of_its_end_in_the_audit_log(client, ada):
    calls = [(f"c{number}", "exec", {"command": "ls"}) for number in range(1, 5)]
    results = [result(call) for call, *_ in calls[:3]] + [result("c4", details={"exitCode": 0, "durationMs": 77})]
    store_session(user("go"), assistant("", *calls), *results, assistant("done"), session_id="s2")
    for number, (call, duration) in enumerate((("c1", 125_000), ("c2", 2_000), ("c3", None), ("c4", 3_000)), start=10):
        about = {"toolCallId": f"sha256:{hashlib.sha256(call.encode()).hexdigest()}", "name": "exec"}
        about |= {} if duration is None else {"durationMs": duration}
        store_step(number, "s2", "tool.action.finished", about | {"status": "succeeded"}, created_at=T0 + number)
    page = client.get("/agents/ada/sessions/s2/").text
    assert re.findall(r'call__num">([^<]*)<', page)[::2] == ["2 min 5 s", "2.0 s", "", "77 ms"]
    assert "Tool call ended" in client.get("/agents/ada/sessions/s2/steps/").text
    AgentSummary.objects.create(agent_id="ada", last_activity_at=T0)
    page = client.get("/agents/ada/").text
    assert "p50 3.0 s, p95 2 min 5 s" in page


def test_an_agent_without_an_audit_log_says_nothing_of_durations(client, ada):
    store_session(user("go"), assistant("", ("c", "exec", {})), result("c"), session_id="s2")
    AgentSummary.objects.create(agent_id="ada", last_activity_at=T0)
    page = client.get("/agents/ada/").text
    assert "1 result" in page and "p95 " not in page.partition('id="tools"')[2]
