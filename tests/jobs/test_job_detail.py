"""The page of one job, while it runs and afterwards."""

import pytest
from django.urls import reverse

from jobs.models import JobRun
from openclaw_web import clock
from tests.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_a_running_job_polls_itself_and_an_ended_one_stops(as_admin):
    job = JobFactory(state="running", done=3, total=10, heartbeat_at=clock.now_ms())
    page = as_admin.get(job.get_absolute_url()).text
    assert 'hx-trigger="every 1s, click"' in page
    assert 'value="30"' in page
    part = as_admin.get(job.get_absolute_url(), headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert "<html" not in part.text
    JobRun.objects.update(state="finished")
    last = as_admin.get(job.get_absolute_url(), headers={"HX-Request": "true"})
    assert last.status_code == 286
    assert "hx-get" not in last.text
    assert as_admin.get(job.get_absolute_url()).status_code == 200


def test_a_collect_leads_to_what_it_made(as_admin):
    job = JobFactory(kind="collect", state="finished")
    assert f'href="{reverse("overview:agent_list")}"' in as_admin.get(job.get_absolute_url()).text
