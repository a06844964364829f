"""The page Problems: open problems and their actions."""

import json
import re

import pytest
from django.test import Client

from jobs import kinds
from openclaw_web import clock
from openclaw_web.disk import locks
from overview.models import AgentSummary
from people.models import AuditEntry
from problems.models import Problem
from tests.factories import BackupRunFactory, JobFactory, UserFactory
from tests.people.settings_page import save
from tests.suite.browsers import BACKEND

from .check_results import check

PAGE = "/operations/"
BACKUP = "No backup has been test-restored yet."
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_home(settings, tmp_path, db):
    settings.HOME_DIR = tmp_path
    AgentSummary.objects.create(agent_id="ada")


def browser_of(role):
    client = Client()
    client.force_login(UserFactory(username=role, role=role), backend=BACKEND)
    return client


def act(client, row, verb, **body):
    """Act on a problem; returns the text of the page that follows."""
    return client.post(f"/operations/problems/{row.id}/{verb}/", body, follow=True).text


def test_it_works(as_admin):
    job = JobFactory(kind="backup", state="failed", message="The disk is gone.", started_by=kinds.BY_SCHEDULE)
    save(as_admin, "schedule.backupHours", "24")
    check()
    text = as_admin.get(PAGE).text
    assert "The automatic task “Backup” failed: The disk is gone." in text and job.get_absolute_url() in text
    assert BACKUP in text and 'href="/operations/backups/"' in text and ">Back up<" in text
    assert text.index("The disk is gone.") < text.index(BACKUP)


def test_empty(as_admin):
    BackupRunFactory(proven_at=clock.now_ms())
    check()
    text = as_admin.get(PAGE).text
    assert "Nothing needs you." in text and "needs__calm" in text and "<table" not in text


def test_a_page_says_when_nobody_checks(as_admin, later, settings):
    AgentSummary.objects.update(last_activity_at=clock.now_ms())
    (settings.HOME_DIR / "state").mkdir()
    assert "Problems have not been checked yet; no worker is running." in as_admin.get(PAGE).text
    with locks.lock(locks.WORKING):
        for text in (as_admin.get(PAGE).text, as_admin.get("/").text):
            assert "The first check for problems is under way." in text and "Nothing needs you" not in text
    BackupRunFactory(proven_at=clock.now_ms())
    check()
    assert "no worker is running" not in as_admin.get(PAGE).text
    later(seconds=-301)  # a check in the future does not count either
    assert "no worker is running" in as_admin.get(PAGE).text
    later(seconds=301)
    text = as_admin.get(PAGE).text
    assert "no worker is running. Start one with “openclaw-web serve”." in text and "Nothing needs you" not in text


def test_a_problem_is_seen_muted_unmuted_and_closed(as_operator):
    check()
    row = Problem.objects.get()
    assert f"Mark as seen: {BACKUP}" in as_operator.get(PAGE).text
    assert "Seen by otto" in act(as_operator, row, "seen")
    assert "Seen by otto" in act(browser_of("admin"), row, "seen"), "who saw it first stays"
    assert "Enter the reason for muting." in act(as_operator, row, "mute", reason=" ")
    assert "Nothing needs you." in act(as_operator, row, "mute", reason="Next week.")
    assert as_operator.get("/operations/needs/").text.strip() == ""
    assert "Muted by otto: Next week." in as_operator.get(f"{PAGE}?segment=muted").text
    assert "This problem is muted. Unmute it first." in act(as_operator, row, "mute", reason="Again.")
    assert BACKUP in act(as_operator, row, "unmute")
    assert "The problem is closed." in act(as_operator, row, "close")
    assert "This problem is closed already." in act(as_operator, row, "close")
    assert "Closed by otto" in as_operator.get(f"{PAGE}?segment=closed").text
    done = list(AuditEntry.objects.filter(object_type="problem").order_by("id").values_list("action", "object_id"))
    assert done == [(f"problem_{name}", row.id) for name in ("seen", "muted", "unmuted", "closed")]
    assert as_operator.post("/operations/problems/nowhere/close/").status_code == 404


def test_as_a_file_and_where_htmx_goes(as_operator):
    check()
    (row,) = json.loads(as_operator.get(f"{PAGE}?format=json").getvalue())
    assert row["kind"] == "backup" and row["problem"].startswith(BACKUP) and row["state"] == "open"
    seen = f"/operations/problems/{Problem.objects.get().id}/seen/"
    assert as_operator.post(seen, headers={"HX-Request": "true"}).headers["HX-Redirect"] == PAGE


def test_a_kind_that_is_gone_is_closed(as_operator, settings):
    check()
    settings.PROBLEM_KINDS = {name: path for name, path in settings.PROBLEM_KINDS.items() if name != "backup"}
    assert ">backup<" in as_operator.get(PAGE).text
    assert check() == []


# Facts from agents' files or other versions of this site, with a text of the page and the button's address.
ODD_FACTS = {
    "not_in_prompt": ({"file": "USER.md", "state": "unheard_of"}, "Memory file not in prompts", "/files/USER.md/"),
    "rule_broken": ({"count": 1, "files": "USER.md"}, "1 write of ada broke a rule (USER.md).", None),
    "samples_waiting": ({"is_more": True}, "Samples waiting", "/review/"),
    "rollback_interrupted": ({"file": "a&b#<i>.md"}, "a&amp;b#&lt;i&gt;.md of ada was", "?file=a%26b%23%3Ci%3E.md"),
    "task_failing": ({"task": "t", "name": "to\u202eyaD", "count": 1}, "“to<span", "/agents/ada/cron/t/"),
    "no_such_kind": ({}, "no_such_kind", None),
}


@pytest.mark.parametrize("kind", ODD_FACTS)
def test_odd_facts_break_no_page_and_leave_no_address(as_admin, ada, kind):
    facts, words, address = ODD_FACTS[kind]
    row = Problem(id="p1", kind=kind, agent_id="ada", severity=50, detail_json=json.dumps(facts))
    row.since_at = row.opened_at = row.last_seen_at = clock.now_ms()
    row.save()
    for page in (PAGE, "/"):
        text = as_admin.get(page).text
        assert words in text or kind == "no_such_kind" != page == "/"
        assert "\u202e" not in text
    buttons = re.findall(r'<a class="button button--small" href="([^"]*)"', as_admin.get(PAGE).text)
    assert [address in href for href in buttons] == ([True] if address else [])


def test_no_page_checks(as_admin, django_assert_max_num_queries):
    check()
    before = list(Problem.objects.values_list("id", "last_seen_at"))
    Problem.objects.update(is_found=False)  # a check would find them again
    for address, most in ((PAGE, 9), ("/operations/needs/", 4), ("/", 30)):
        with django_assert_max_num_queries(most):
            as_admin.get(address)
    assert before == list(Problem.objects.filter(is_found=False).values_list("id", "last_seen_at")) != []
