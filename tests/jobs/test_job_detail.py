"""The page of one job, during its run and afterwards."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from jobs.models import JobRun
from openclaw_web import clock
from tests.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_a_running_job_polls_itself_and_an_ended_one_stops(as_admin):
    job = JobFactory(state="running", done=3, total=10, heartbeat_at=clock.now_ms())
    page = as_admin.get(job.get_absolute_url()).text
    assert 'hx-trigger="every 1s, click"' in page and 'value="30"' in page
    part = as_admin.get(job.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 200 and "<html" not in part.text
    JobRun.objects.update(state="finished")
    last = as_admin.get(job.get_absolute_url(), headers={"HX-Request": "true"})
    assert last.status_code == 286 and "hx-get" not in last.text
    assert as_admin.get(job.get_absolute_url()).status_code == 200


def test_a_run_that_stopped_with_its_terminal_leads_to_where_it_is_started_again(as_admin, ada):
    """A stopped run waits for a person, and list, API and command say so."""
    words = {"kind": "gate", "worker": "elsewhere:1:X", "params_json": '{"agent": "ada", "before_at": 1}'}
    job = JobFactory(state="running", ends_with_process=True, heartbeat_at=1, attempts=1, **words)
    call_command("jobs")
    page = as_admin.get(job.get_absolute_url()).text
    assert "Stopped: its process in the terminal has ended. Nothing is sent until a person starts it again." in page
    assert f'href="{reverse("gate:own_gate", args=["ada"])}">Start again</a>' in page
    assert "Stopped" in as_admin.get(reverse("jobs:job_list"), {"state": "stopped"}).text
    assert "Its process in the terminal" not in as_admin.get(reverse("jobs:job_list"), {"state": "failed"}).text
    listed = as_admin.get("/api/v1/operations/jobs", {"state": "stopped"}).json()["items"]
    assert [(item["id"], item["state"]) for item in listed] == [(job.id, "stopped")]
