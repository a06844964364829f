"""The pages of our own guardian, and the same in the API: how it stands, plans, runs, proposals, the switches."""

import pytest

from guardian.models import GuardianRun
from guardian.proposing import running, switch
from jobs.models import JobRun
from jobs.progress import Progress
from people.configuration import keys as configuration
from people.models import AuditEntry
from tests.guardian.written import wrote

from .proposed import DB, HELD, NEW, audits, decided, proposal, runs, writes

pytestmark = pytest.mark.django_db
PAGE = "/agents/ada/writes/own/"
API = "/api/v1/agents/ada/guardian"
JSON = {"content_type": "application/json"}


def text_of(answer):
    return " ".join(answer.content.decode().split())


def test_an_empty_page_says_what_is_missing(ada, as_stranger):
    page = text_of(as_stranger.get(PAGE))
    assert "No endpoint for language models is configured" in page
    assert "No runs yet" in page and "Preview" not in page and "Turn on" not in page
    assert as_stranger.get(f"{API}/own").json()["problem"].startswith("No endpoint")


def test_an_operator_sees_facts_host_and_tokens_before_the_button(ada, workspace, endpoint, as_operator):
    decided(0)
    decided(1, decision="UPDATE_TOOLS")
    configuration.put("llm.prices", ["small: 1 10"])
    page = text_of(as_operator.get(f"{PAGE}?limit=5"))
    assert "<p>2 facts</p>" in page and "Send 2 facts" in page
    assert endpoint.url.split("/")[2] in page and "USER.md" in page
    plan = as_operator.get(f"{API}/run?limit=5").json()
    assert (plan["facts"], plan["files"], plan["problem"]) == (2, {"TOOLS.md": 1, "USER.md": 1}, "")
    assert plan["tokens"] > 1_000 and plan["cost_usd"] > 0
    assert not endpoint.requests and not JobRun.objects.exists()
    assert as_operator.get(f"{API}/run?session=nobody").status_code == 404
    assert "no session nobody" in text_of(as_operator.get(f"{PAGE}?limit=5&session=nobody"))


def test_sending_starts_a_job(ada, workspace, endpoint, as_operator):
    decided()
    as_operator.post(f"{PAGE}run/", {"limit": "2"})
    job = JobRun.objects.get()
    assert (job.kind, job.started_by, job.state) == ("guardian", "otto", "queued")
    again = as_operator.post(f"{API}/run", {"limit": 1}, **JSON)
    assert (again.status_code, "is running" in again.json()["detail"]) == (409, True)
    assert as_operator.post(f"{API}/run", {"limit": 0}, **JSON).status_code == 422


def test_a_proposal_on_its_page_is_approved(ada, workspace, endpoint, as_operator, settings):
    one = proposal(ada, endpoint=endpoint)
    assert "Likes tea." in text_of(as_operator.get(f"{PAGE}proposals/"))
    address = f"{PAGE}proposals/{one.id}/"
    settings.WORKSPACE_WRITES = False
    assert "apply the patch" in text_of(as_operator.get(address))
    patch = as_operator.get(f"{address}patch/")
    assert b"\n+- Likes tea.\n" in patch.content and "USER.md.patch" in patch["Content-Disposition"]
    settings.WORKSPACE_WRITES = True
    page = as_operator.get(address)
    assert "Approve and write" in text_of(page) and "read" in text_of(page)
    seen = page.context["looked"].made.seen if page.context else None
    seen = seen or as_operator.get(f"{API}/proposals/{one.id}").json()["seen"]
    done = as_operator.post(f"{address}approve/", {"seen": seen}, follow=True)
    assert "The proposal was written." in text_of(done)
    assert (workspace / "USER.md").read_text() == NEW
    assert "does not wait any more" in text_of(as_operator.post(f"{address}approve/", {"seen": seen}, follow=True))
    assert "Likes tea." in text_of(as_operator.get(f"{PAGE}proposals/?all"))
    assert as_operator.get(f"{address}patch/").status_code == 404
    assert as_operator.get(f"{PAGE}proposals/nothing/").status_code == 404
    assert as_operator.post(f"{PAGE}proposals/nothing/approve/", {"seen": ""}).status_code == 404


def test_a_proposal_is_declined(ada, workspace, endpoint, as_operator):
    one = proposal(ada, endpoint=endpoint)
    as_operator.post(f"{PAGE}proposals/{one.id}/decline/", {"reason": "No."})
    assert (audits()[0].status, audits()[0].reason) == ("refused", "No.")
    assert "Declined" in text_of(as_operator.get(f"{PAGE}proposals/{one.id}/"))


def test_proposals_in_the_api(ada, workspace, endpoint, as_operator):
    one = proposal(ada, endpoint=endpoint)
    [row] = as_operator.get(f"{API}/proposals").json()["items"]
    assert (row["id"], row["state"], row["lines_added"]) == (one.id, "proposed", 1)
    found = as_operator.get(f"{API}/proposals/{one.id}").json()
    assert "+- Likes tea." in found["diff"] and [step["tool"] for step in found["steps"]] == ["read", "write"]
    wrong = as_operator.post(f"{API}/proposals/{one.id}/approve", {"seen": "x"}, **JSON)
    assert wrong.status_code == 409 and (workspace / "USER.md").read_text() == HELD
    done = as_operator.post(f"{API}/proposals/{one.id}/approve", {"seen": found["seen"]}, **JSON)
    assert done.json() == {"audit_id": audits()[0].id, "meanwhile": []}
    assert as_operator.get(f"{API}/proposals").json()["items"] == []
    assert as_operator.get(f"{API}/proposals?waiting=false").json()["items"][0]["state"] == "written"
    assert as_operator.post(f"{API}/proposals/{one.id}/decline", {"reason": "x"}, **JSON).status_code == 409
    assert as_operator.get(f"{API}/proposals/nothing").status_code == 404


def test_the_switches(ada, workspace, endpoint, as_admin):
    page = text_of(as_admin.post(f"{PAGE}switch/", {"file": "USER.md", "to": "on"}, follow=True))
    assert "unattended from now on" in page and f"for {endpoint.url.split('/')[2]}" in page
    assert switch.of("ada", "USER.md").by == "root"
    as_admin.post(f"{PAGE}switch/", {"file": "USER.md", "to": "off"})
    assert switch.all_on() == {}
    assert "never written" in text_of(as_admin.post(f"{PAGE}switch/", {"file": "SOUL.md", "to": "on"}, follow=True))
    told = as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": True}, **JSON).json()
    assert (told["is_on"], told["by"]) == (True, "root")
    assert as_admin.post(f"{API}/unattended", {"file": "SOUL.md", "is_on": True}, **JSON).status_code == 422
    assert as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": False}, **JSON).json()["since"] is None
    actions = AuditEntry.objects.filter(object_type="file").order_by("id").values_list("action", "object_id")
    assert [action for action, _name in actions] == ["guardian_turned_on", "guardian_turned_off"] * 2


def test_a_switch_needs_an_endpoint_to_name(ada, as_admin):
    told = as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": True}, **JSON)
    assert (told.status_code, "No endpoint" in told.json()["detail"]) == (409, True)


def retried(as_operator, **body):
    return as_operator.post(f"{API}/writes/w1/retry", body, **JSON)


def test_a_write_is_asked_for_again(ada, workspace, endpoint, as_operator):
    wrote(DB, 1, None, b"x\n", target_file="USER.md", decision_id="d9")
    told = retried(as_operator, fact="Likes green tea.")
    assert told.status_code == 202
    [one] = runs()
    assert (one.id, one.state, one.retry_of, one.candidate_fact) == (
        told.json()["proposal_id"], "queued", "w1", "Likes green tea.",
    )  # fmt: skip
    endpoint.then(*writes(HELD + "- Likes green tea.\n"))
    running.run({"agent": "ada", "run": one.id, "before_at": one.created_at}, Progress())
    one = GuardianRun.objects.using(DB).get()
    assert (one.state, one.decision_id) == ("proposed", "d9")
    seen = as_operator.get(f"{API}/proposals/{one.id}").json()["seen"]
    as_operator.post(f"{API}/proposals/{one.id}/approve", {"seen": seen}, **JSON)
    assert audits()[-1].retry_of == "w1"


def test_retrying_on_its_page(ada, workspace, endpoint, as_operator):
    wrote(DB, 1, None, b"x\n", target_file="USER.md")
    address = f"{PAGE}retry/w1/"
    assert "Likes tea." in text_of(as_operator.get(address))
    answer = as_operator.post(address, {"fact": "x", "file": "TOOLS.md"})
    assert answer.status_code == 302 and answer["Location"] == f"{PAGE}proposals/{runs()[0].id}/"
    assert as_operator.post(address, {"fact": "", "file": "TOOLS.md"}).status_code == 422
    assert as_operator.get(answer["Location"]).status_code == 200
    assert as_operator.get(f"{PAGE}retry/nothing/").status_code == 404


def test_what_cannot_be_retried(ada, workspace, as_operator, settings):
    wrote(DB, 1, None, b"x\n", target_file="USER.md")
    told = retried(as_operator)
    assert (told.status_code, "No endpoint" in told.json()["detail"]) == (409, True)
    assert retried(as_operator, file="AGENTS.md").status_code == 422
    assert as_operator.post(f"{API}/writes/nothing/retry", {}, **JSON).status_code == 404
    configuration.put("collector.optedOutSenders", ["mallory"])
    assert "opted out" in retried(as_operator).json()["detail"]
    assert runs() == []
