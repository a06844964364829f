"""The scheduled jobs of an agent."""

import re
from html import unescape

import pytest

from problems.models import Problem
from tests.factories import T0, CronJobFactory, CronRunFactory, SessionFactory

ADA = "/agents/ada/cron/"
API = "/api/v1/agents/ada/cron"
pytestmark = pytest.mark.django_db


def find_names(response):
    return re.findall(r'<a href="/agents/ada/cron/[^"]+/">([^<]*)</a>', response.text)


def test_it_works(client):
    CronJobFactory(id="j", next_run_at=T0)
    for status, duration in (("ok", 1_000), ("error", 3_000), ("ok", 2_600), ("skipped", 2), ("ok", 2_000)):
        CronRunFactory(job_id="j", status=status, duration_ms=duration)
    page = client.get(ADA)
    assert find_names(page) == ["Morning brief"]
    for words in ("Every day at 07:00 (Asia/Shanghai)", "75%", "2.3 s", "2.1 s", "succeeded"):
        assert words in page.text
    assert "Last 5 runs: 3 succeeded, 1 failed, 1 skipped" in page.text
    assert page.text.count("<rect ") == 5


def test_adas_page_does_not_show_bobs_jobs(client):
    CronJobFactory(agent_id="bob", name="Bob alone")
    assert "Bob alone" not in client.get(ADA).text
    assert "Bob alone" in client.get("/agents/bob/cron/").text
    assert client.get("/agents/eve/cron/").status_code == 404


def test_all_agents_have_one_list(as_stranger, ada, bob):
    CronJobFactory(id="j")
    CronJobFactory(id="k", agent_id="bob", name="Bob alone")
    page = as_stranger.get("/cron/").text
    assert 'href="/agents/ada/cron/j/"' in page and 'href="/agents/bob/cron/k/"' in page
    assert "Scheduled tasks of all agents" in page and '<a href="/agents/bob/cron/">bob</a>' in page
    moments = dict.fromkeys(("since_at", "opened_at", "last_seen_at"), T0)
    Problem.objects.create(id="p", kind="task_overdue", agent_id="bob", subject="k", severity=62, **moments)
    late = as_stranger.get("/cron/?overdue=on").text
    assert "/agents/bob/cron/k/" in late and "/agents/ada/cron/j/" not in late
    assert "No scheduled tasks" in as_stranger.get("/agents/ada/cron/?overdue=on").text


def test_without_jobs_it_says_what_will_be_here(client):
    assert "No scheduled tasks" in client.get(ADA).text


def test_a_job_that_never_ran_has_no_numbers(client):
    CronJobFactory(enabled=False)
    page = client.get(ADA).text
    assert "never" in page and ">Disabled<" in page
    CronJobFactory(next_run_at=T0)
    assert re.search(r"due <time", client.get(ADA).text), "a run that should have been"


def test_a_damaged_definition_stops_nothing(client):
    CronJobFactory(id="", name="without an id")
    CronJobFactory(name="", id="a/b?c#%2F", schedule_json="[1]", job_json="not json")
    CronJobFactory(name="<script>x</script>\u202e", schedule_json='{"kind":"cron","expr":"<b>\\u202e"}')
    page = client.get(ADA)
    assert not [odd for odd in ("<script>x", "<b>", "\u202e", "without an id") if odd in page.text]
    address = re.search(r'<a href="(/agents/ada/cron/a/b[^"]+)">', page.text)[1]
    assert client.get(unescape(address)).status_code == 200


def test_numbers_speak_of_the_last_hundred_runs(client):
    CronJobFactory(id="j")
    CronRunFactory.create_batch(50, job_id="j", status="error", duration_ms=90_000)
    CronRunFactory.create_batch(100, job_id="j")
    page = client.get(ADA).text
    assert "100%" in page
    assert "90.0 s" not in page and "1 min 30" not in page
    assert '<td class="num" data-label="Runs">150</td>' in page
    CronRunFactory.create_batch(900, job_id="j")
    assert '<td class="num" data-label="Runs">1,000+</td>' in client.get(ADA).text


def test_a_session_leads_to_the_job_that_started_it(client):
    CronJobFactory(id="j:1")
    CronRunFactory(job_id="j:1", session_id="by-run")
    CronRunFactory(job_id="no longer defined", session_id="orphan")
    SessionFactory(id="by-key", session_key="agent:main:cron:j:1:run:by-key")
    there = "/agents/ada/cron/j:1/"
    for session in ("by-run", "by-key", "agent:main:cron:j:1", "agent:main:cron:j:1:run:never-seen"):
        assert client.get(ADA, {"session": session})["Location"] == there, session
    assert client.get(ADA, {"session": "agent:x:cron:gone:run:by-run"})["Location"] == there
    assert client.get(client.get(ADA, {"session": "orphan"})["Location"]).status_code == 200


@pytest.mark.parametrize("session", ["nobody", "agent:main:main", "agent:main:cron:", "x" * 5_000, "a\0b", "<b>\u202e"])
def test_a_session_that_no_job_started_is_told_so(client, session):
    CronJobFactory(id="j", agent_id="bob")
    CronRunFactory(job_id="j", agent_id="bob", session_id="nobody")
    page = client.get(ADA, {"session": session})
    assert page.status_code == 404 and "No scheduled task started this session" in page.text
    assert "<b>" not in page.text


def test_the_api_says_the_same(client):
    CronJobFactory(id="j")
    CronRunFactory(job_id="j", status="ok", duration_ms=1_000, ts=T0)
    CronRunFactory(job_id="j", status="ok", duration_ms=1_000, ts=T0)
    CronRunFactory(job_id="j", status="error", duration_ms=2_000, ts=T0 + 1)
    CronJobFactory(id="k", name="never ran")
    first, other = client.get(API).json()["items"]
    assert (first["words"], first["schedule"]["expr"]) == ("Every day at 07:00 (Asia/Shanghai)", "0 7 * * *")
    numbers = {"run_count": 3, "success_percent": 66, "last_run_at": T0 + 1, "last_outcome": "failed"}
    assert first["numbers"] == numbers | {"median_ms": 1_000, "average_ms": 1_333, "longest_ms": 2_000}
    assert (other["numbers"]["run_count"], other["numbers"]["last_run_at"]) == (0, None)
