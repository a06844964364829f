"""How far the scan is behind, and the button that starts it."""

import pytest
from django.urls import reverse

from agents.models import Agent
from findings import scan
from jobs.models import JobRun
from ledger.models import Session
from tests.datasets.finding_values.finding_rows import MAIL
from tests.datasets.page_text import read_text
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db
LAG, SCAN = reverse("datasets:finding_lag"), reverse("datasets:findings_scan")


@pytest.fixture
def waiting(stored):
    """Twelve records of a session that were not scanned."""
    Session.objects.using("agent_ada").filter(id="s").update(record_count=12)


def test_it_says_what_is_not_scanned_yet(as_stranger, waiting):
    page = as_stranger.get(LAG)
    assert "12 records and texts are not scanned yet." in page.text and "<html" not in page.text


def test_one_text_is_said_as_one(as_stranger, stored):
    Session.objects.using("agent_bob").filter(id="t").update(record_count=1)
    assert "1 record or text is not scanned yet." in as_stranger.get(LAG).text


def test_a_scan_brings_it_to_nothing_and_takes_the_button_away(as_operator, ada):
    store_session(user(f"Write to {MAIL}"), assistant("Done."))
    assert "2 records and texts are not scanned yet. Scan now" in read_text(as_operator.get(LAG))
    scan.scan_all()
    assert read_text(as_operator.get(LAG)) == "All texts are scanned."


def test_a_site_without_agents_has_nothing_to_scan(as_stranger):
    Agent.objects.all().delete()
    assert read_text(as_stranger.get(LAG)) == "There is nothing to scan yet: no agent is imported."


def test_operators_start_the_scan_once(as_operator, waiting):
    assert as_operator.post(SCAN).url == reverse("datasets:finding_list")
    as_operator.post(SCAN)
    assert [job.kind for job in JobRun.objects.all()] == ["findings_scan"]


@pytest.mark.parametrize("role", ["as_reviewer", "as_stranger"])
def test_nobody_below_starts_it(request, waiting, role):
    browser = request.getfixturevalue(role)
    assert "Scan now" not in browser.get(LAG).text
    assert browser.post(SCAN).status_code == 403 and not JobRun.objects.exists()
