"""The page of one step of a session's runs."""

import pytest

from tests.factories import SessionFactory
from tests.ledger.session.test_session_steps import API, HANDLE, STEPS
from tests.ledger.transcript_records import store_step

HOSTILE = "<script>alert(1)</script>\u202e\x07"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def session(ada):
    return SessionFactory(id="s1")


def test_one_step(client):
    store_step(1, type="context.compiled", about={"tools": HANDLE, "systemPrompt": HANDLE})
    store_step(2, about={"stopReason": "stop", "usage": {"input": 12004, "output": 43, "cost": 0.25}})
    page = client.get(STEPS + "id2/").text
    assert "&quot;stopReason&quot;: &quot;stop&quot;" in page
    assert page.count(f'href="{STEPS}"') == 2
    assert f"/agents/ada/artifacts/{'ab' * 32}/" in client.get(STEPS + "id1/").text


def test_a_step_of_another_session_or_one_that_is_gone(client):
    store_step(2, session_id="s2")
    assert client.get(STEPS + "id2/").status_code == client.get(STEPS + "nothing/").status_code == 404
    assert client.get("/agents/ada/sessions/s2/steps/id2/").status_code == 200


def test_hostile_text(client):
    about = {"name": HOSTILE, "status": HOSTILE, "usage": {"input": True, "output": "x", "cost": -(2**60)}}
    store_step(1, type=HOSTILE, run_id=HOSTILE, about=about)
    store_step(2, about={"tools": "../../../etc/passwd", "usage": [1], "success": "no", "name": 7})
    store_step(3, type="", run_id="", about=[1])
    for address in (STEPS, *(f"{STEPS}id{number}/" for number in (1, 2, 3))):
        answer = client.get(address)
        assert answer.status_code == 200
        for bad in ("<script>alert", "\u202e", "etc/passwd/"):
            assert bad not in answer.text
    assert client.get(API).status_code == 200
