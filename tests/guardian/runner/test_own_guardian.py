"""The page and the API of our own guardian: status, plans, runs, switches."""

import pytest

from agents.runners import switches
from guardian.models import WriteGuardianAudit
from guardian.runner.llm.config import RUNNER
from openclaw_web import clock
from people.models import AuditEntry
from tests.guardian.write_rows import create_write

from .proposal_rows import API, DB, JSON, PAGE, create_decision, text_of

pytestmark = pytest.mark.django_db


def test_a_plan_names_the_files(ada, workspace, endpoint, as_operator):
    create_decision(0)
    create_decision(1, decision="UPDATE_TOOLS")
    assert "USER.md" in text_of(as_operator.get(f"{PAGE}?limit=5"))
    assert as_operator.get(f"{API}/run?limit=5").json()["files"] == {"TOOLS.md": 1, "USER.md": 1}


def test_the_switches(ada, workspace, endpoint, as_admin):
    page = text_of(as_admin.post(f"{PAGE}switch/", {"file": "USER.md", "to": "on"}, follow=True))
    assert "unattended from now on" in page and f"for {endpoint.url.split('/')[2]}" in page
    assert switches.read_agent_switches(RUNNER, "ada")["USER.md"].by == "root"
    as_admin.post(f"{PAGE}switch/", {"file": "USER.md", "to": "off"})
    assert switches.read_all_switches(RUNNER) == {}
    assert "never written" in text_of(as_admin.post(f"{PAGE}switch/", {"file": "SOUL.md", "to": "on"}, follow=True))
    switch_state = as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": True}, **JSON).json()
    assert (switch_state["is_on"], switch_state["by"]) == (True, "root")
    assert as_admin.post(f"{API}/unattended", {"file": "SOUL.md", "is_on": True}, **JSON).status_code == 422
    assert as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": False}, **JSON).json()["since"] is None
    actions = AuditEntry.objects.filter(object_type="file").order_by("id").values_list("action", "object_id")
    assert [action for action, _name in actions] == ["guardian_turned_on", "guardian_turned_off"] * 2


def test_a_switch_needs_an_endpoint_to_name(ada, as_admin):
    answer = as_admin.post(f"{API}/unattended", {"file": "TOOLS.md", "is_on": True}, **JSON)
    assert (answer.status_code, "No endpoint" in answer.json()["detail"]) == (409, True)


def test_without_an_endpoint_no_file_can_be_turned_on(ada, as_admin):
    page = text_of(as_admin.get(PAGE))
    assert page.count("disabled aria-describedby") == 3 and "once an endpoint is configured" in page


def test_turning_on_says_that_the_plugin_still_writes(ada, workspace, endpoint, as_admin):
    create_write(DB, 1, None, b"x")
    WriteGuardianAudit.objects.using(DB).update(created_at=clock.now_ms())
    page = text_of(as_admin.post(f"{PAGE}switch/", {"file": "USER.md", "to": "on"}, follow=True))
    assert "Unattended writing is on for USER.md. The plugin last wrote on" in page and "from now on" not in page
