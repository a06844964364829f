"""The page of one step of a session's runs."""

import pytest

from tests.factories import SessionFactory
from tests.ledger.talks import step

PAGE = "/agents/ada/sessions/s1/"
HANDLE = f"ocm_artifact:v1:sha256:{'ab' * 32}"
HOSTILE = "<script>alert(1)</script>\u202e\x07"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def client(as_stranger, ada, bob):
    """A browser of a viewer; a session is there."""
    SessionFactory(id="s1")
    return as_stranger


def test_it_works(client):
    step(1, type="context.compiled", about={"tools": HANDLE, "systemPrompt": HANDLE})
    step(2, about={"stopReason": "stop", "usage": {"input": 12004, "output": 43, "cost": 0.25}})
    one = client.get(PAGE + "steps/id2/").text
    assert "&quot;stopReason&quot;: &quot;stop&quot;" in one
    assert one.count(f'href="{PAGE}steps/"') == 2
    assert f"/agents/ada/artifacts/{'ab' * 32}/" in client.get(PAGE + "steps/id1/").text


def test_hostile_text(client):
    about = {"name": HOSTILE, "status": HOSTILE, "usage": {"input": True, "output": "x", "cost": -(2**60)}}
    step(1, type=HOSTILE, run_id=HOSTILE, about=about)
    step(2, about={"tools": "../../../etc/passwd", "usage": [1], "success": "no", "name": 7})
    step(3, type="", run_id="", about=[1])
    for number in (1, 2, 3):
        answer = client.get(f"{PAGE}steps/id{number}/")
        assert answer.status_code == 200
        for bad in ("<script>alert", "\u202e", "etc/passwd/"):
            assert bad not in answer.text


def test_another_agents_steps_are_not_shown(client):
    step(1)
    step(2, session_id="s2")
    assert client.get("/agents/bob/sessions/s1/steps/id1/").status_code == 404
    assert client.get(PAGE + "steps/id2/").status_code == 404
    assert client.get(PAGE + "steps/nothing/").status_code == 404


def test_a_step_of_a_session_that_is_gone(client):
    step(2, session_id="s2")
    assert client.get("/agents/ada/sessions/s2/steps/id2/").status_code == 200
