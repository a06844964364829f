"""The time limit of queries for pages and API reads.

A query beyond it ends with a sentence; writes, downloads and everything else have no limit.
"""

import pytest
from django.db import OperationalError

from benchmarks import bulk_rows
from datasets.models import CUT_OFF, DatasetSample
from ledger.models import Session
from openclaw_web.sqlite import time_limits

pytestmark = pytest.mark.django_db
ROWS = 4_000  # enough for a search to check its time limit
SEARCH = "/agents/ada/sessions/?q=nowhere"
SOON = 0.000_001


@pytest.fixture(autouse=True)
def rows(ada):
    bulk_rows.fill_sessions("agent_ada", ROWS)


def test_a_page_and_a_read_of_the_api_are_stopped_with_a_sentence(as_admin, settings):
    settings.PAGE_SECONDS = SOON
    response = as_admin.get(SEARCH)
    assert response.status_code == 503 and "was stopped. Narrow the filters" in response.text
    response = as_admin.get("/api/v1/agents/ada/sessions?q=nowhere")
    assert (response.status_code, response.json()["code"]) == (503, "too_slow")
    assert "was stopped" in response.json()["detail"]
    for seconds in (5, 0):  # 0: no limit; the connection is as it was
        settings.PAGE_SECONDS = seconds
        assert as_admin.get(SEARCH).status_code == 200


def test_looking_up_who_asks_is_no_page_that_took_too_long(as_admin, settings, monkeypatch):
    monkeypatch.setattr(time_limits, "STEPS", 1)
    settings.PAGE_SECONDS = SOON
    assert as_admin.get(SEARCH).status_code == 503


def test_a_count_that_ends_early_is_no_page_that_took_too_long(as_admin, settings):
    settings.PAGE_SECONDS = 3600
    with time_limits.time_box("agent_ada", -1) as is_up:
        with pytest.raises(OperationalError) as failed:
            Session.objects.using("agent_ada").filter(title__icontains="nowhere").count()
        assert is_up(failed.value)
    assert "4,000 sessions" in as_admin.get("/agents/ada/sessions/?segment=all").text


def test_a_download_takes_as_long_as_it_takes(as_admin, settings):
    settings.PAGE_SECONDS = SOON
    response = as_admin.get("/agents/ada/sessions/?cost=0.001&format=jsonl")
    assert len(response.getvalue().splitlines()) == ROWS


def test_a_write_is_not_broken_off(as_admin, settings):
    bulk_rows.fill_site(ROWS, agent="ada")
    settings.PAGE_SECONDS = SOON
    waiting = DatasetSample.objects.filter(annotation_status=DatasetSample.Status.PENDING)
    whole = waiting.exclude(reply_stop__in=CUT_OFF).count()
    body = {"status": "approved", "expected_count": waiting.count()}
    response = as_admin.post("/api/v1/samples/bulk", body, "application/json")
    assert (response.status_code, response.json()["count"]) == (200, whole)


def test_outside_of_requests_there_is_no_limit(as_admin, settings):
    settings.PAGE_SECONDS = SOON
    as_admin.get(SEARCH)
    assert Session.objects.using("agent_ada").filter(title__icontains="nowhere").count() == 0
