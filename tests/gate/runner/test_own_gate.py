"""The page of our own gate, and its API: status, plans, runs, and the switch."""

import html

import pytest

from agents.runners import switches
from gate.runner.config import RUNNER
from openclaw_web import clock
from people.models import AuditEntry
from tests.factories import GateCallFactory
from tests.gate.replays.replay_rows import text_of
from tests.llm_endpoint import says

from .judged_turns import create_turns, run

pytestmark = pytest.mark.django_db
PAGE = "/agents/ada/gate/own/"
API = "/api/v1/agents/ada/gate"


def test_a_page_says_that_new_turns_are_not_judged(ada, as_stranger):
    assert "New turns of this agent are not judged automatically." in text_of(as_stranger.get(PAGE))


def test_the_page_tells_what_today_cost(ada, endpoint, as_stranger):
    endpoint.then(says("no decision", prompt_tokens=300, completion_tokens=33, cost=0.5))
    create_turns(1)
    run(ada)
    GateCallFactory(outcome="malformed", replay_id="r1", created_at=clock.now_ms())  # is no call of the gate
    page = text_of(as_stranger.get(PAGE))
    assert "<dd> 333<small>of 500,000</small> </dd>" in page
    assert "$0.50" in page
    assert "0 turns judged. 1 answer was no decision." in page
    answer = as_stranger.get(f"{API}/own").json()
    assert (answer["tokens_today"], answer["malformed_today"], answer["cost_today"], answer["left_today"]) == (
        333, 1, 0.5, 499_667,
    )  # fmt: skip
    assert answer["runs"][0]["kind"] == "gate"


def test_the_switch_on_the_page(ada, endpoint, as_admin):
    page = as_admin.post(f"{PAGE}switch/", {"to": "on"}, follow=True)
    assert "Turned on by root" in text_of(page)
    assert switches.read_agent_switches(RUNNER, "ada")[""].by == "root"
    as_admin.post(f"{PAGE}switch/", {"to": "on"})
    as_admin.post(f"{PAGE}switch/", {"to": "off"})
    assert not switches.read_agent_switches(RUNNER, "ada")
    actions = AuditEntry.objects.filter(object_id="ada").order_by("id").values_list("actor", "action", "agent_id")
    assert list(actions) == [("root", "gate_turned_on", "ada"), ("root", "gate_turned_off", "ada")]
    assert "turned on this site's gate for" in html.unescape(text_of(as_admin.get("/operations/audit/")))


def test_a_switch_without_an_endpoint_promises_nothing(ada, as_admin):
    page = text_of(as_admin.post(f"{PAGE}switch/", {"to": "on"}, follow=True))
    assert "Nothing is sent yet" in page and "Turned on by root" in page


def test_the_switch_in_the_api(ada, endpoint, as_admin):
    def turn(is_on):
        return as_admin.post(f"{API}/switch", {"is_on": is_on}, content_type="application/json").json()

    first = turn(True)
    assert (first["is_on"], first["by"]) == (True, "root")
    assert turn(True) == first  # since the first time
    assert as_admin.get(f"{API}/own").json()["switch"] == first
    assert turn(False) == {"is_on": False, "since": None, "by": None}
