"""The page of our own gate, and the same in the API: how it stands, plans, runs, and the switch."""

import pytest

from agents.runners import switches
from gate.deciding.gates import RUNNER
from people.models import AuditEntry
from tests.llm_endpoint import says

from .judged import decisions, run, talk

pytestmark = pytest.mark.django_db
PAGE = "/agents/ada/gate/own/"
API = "/api/v1/agents/ada/gate"


def text_of(answer):
    return " ".join(answer.content.decode().split())


def test_a_page_says_that_new_turns_are_not_judged(ada, as_stranger):
    assert "New turns of this agent are not judged automatically." in text_of(as_stranger.get(PAGE))


def test_the_page_tells_what_today_cost(ada, endpoint, as_stranger):
    endpoint.then(says("no decision", prompt_tokens=300, completion_tokens=33, cost=0.5))
    talk(1)
    run(ada)
    page = text_of(as_stranger.get(PAGE))
    assert "<dd> 333<small>of 500,000</small> </dd>" in page
    assert "$0.50" in page
    assert "0 turns judged. 1 answer was no decision." in page
    told = as_stranger.get(f"{API}/own").json()
    assert (told["tokens_today"], told["malformed_today"], told["cost_today"], told["left_today"]) == (
        333, 1, 0.5, 499_667,
    )  # fmt: skip
    assert told["runs"][0]["kind"] == "gate"


def test_only_admins_switch_and_the_log_says_who(ada, endpoint, as_operator):
    assert as_operator.post(f"{PAGE}switch/", {"to": "on"}).status_code == 403
    assert as_operator.post(f"{API}/switch", {"is_on": True}, content_type="application/json").status_code == 403
    assert not switches.of_agent(RUNNER, "ada")


def test_the_switch_on_the_page(ada, endpoint, as_admin):
    page = as_admin.post(f"{PAGE}switch/", {"to": "on"}, follow=True)
    assert "Turned on by root" in text_of(page)
    assert switches.of_agent(RUNNER, "ada")[""].by == "root"
    as_admin.post(f"{PAGE}switch/", {"to": "on"})
    as_admin.post(f"{PAGE}switch/", {"to": "off"})
    assert not switches.of_agent(RUNNER, "ada")
    actions = AuditEntry.objects.filter(object_id="ada").order_by("id").values_list("actor", "action", "agent_id")
    assert list(actions) == [("root", "gate_turned_on", "ada"), ("root", "gate_turned_off", "ada")]
    assert "turned on the built-in gate for" in text_of(as_admin.get("/operations/audit/"))


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


def test_a_plan_and_a_run_in_the_api(ada, endpoint, as_operator):
    turns = talk(3)
    plan = as_operator.get(f"{API}/run?from_ts={turns[1].created_at}").json()
    assert (plan["turns"], plan["problem"], plan["cost_usd"]) == (2, "", None)
    assert as_operator.get(f"{API}/run?session=nobody").status_code == 404
    body = {"limit": 1, "session": "s1"}
    answer = as_operator.post(f"{API}/run", body, content_type="application/json")
    assert (answer.status_code, answer.json()["kind"]) == (202, "gate")
    assert as_operator.post(f"{API}/run", body, content_type="application/json").status_code == 409
    assert as_operator.post(f"{API}/run", {"limit": 0}, content_type="application/json").status_code == 422
    assert not decisions()
