"""The number beside Today in the rail counts the open problems."""

import pytest

from jobs import kinds
from openclaw_web import clock
from overview.models import AgentSummary
from problems.models import Problem
from tests.factories import JobFactory, SampleFactory
from tests.people.settings_page import save

from .check_results import check

NUMBER = "/operations/needs/"
MINUTE_MS = 60_000
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def imported(proven):
    AgentSummary.objects.create(agent_id="ada")


def read_number(client):
    """Run a check; returns the number in the rail with its words, or an empty text."""
    check()
    return client.get(NUMBER).text.strip()


def test_there_is_no_number_when_all_is_well(as_admin):
    JobFactory(state="queued", created_at=clock.now_ms())
    assert read_number(as_admin) == ""


def test_a_backup_that_was_not_restored_lately_counts(as_admin, proven):
    proven.proven_at -= 31 * 86_400_000
    proven.save()
    assert ">1</b>" in read_number(as_admin) and "1 problem<" in read_number(as_admin)
    AgentSummary.objects.all().delete()
    assert read_number(as_admin) == ""  # without an import there is nothing to lose yet


def test_jobs_without_a_worker_count_after_ten_minutes(as_admin):
    JobFactory(state="queued", created_at=clock.now_ms() - 11 * MINUTE_MS)
    assert ">1</b>" in read_number(as_admin)
    JobFactory(state="running", created_at=clock.now_ms())
    assert read_number(as_admin) == ""  # the job waits behind a running one


@pytest.mark.parametrize(("state", "words"), [("failed", "1 problem<"), ("refused", "1 problem<"), ("finished", "")])
def test_the_last_run_of_an_automatic_task_counts(as_admin, state, words):
    JobFactory(kind="backup", state=state, started_by=kinds.BY_SCHEDULE, created_at=clock.now_ms())
    save(as_admin, "schedule.backupHours", "24")
    assert words in read_number(as_admin) and bool(words) == bool(read_number(as_admin))


def test_one_that_is_switched_off_does_not(as_admin):
    JobFactory(kind="backup", state="failed", started_by=kinds.BY_SCHEDULE, created_at=clock.now_ms())
    save(as_admin, "schedule.backupHours", "0")
    assert read_number(as_admin) == ""


def test_samples_that_wait_are_told_and_not_counted(as_admin, ada):
    SampleFactory(agent_id="ada")
    assert read_number(as_admin) == ""
    assert "1 sample to review." in as_admin.get("/operations/").text


def test_very_many_are_not_counted_on(as_admin):
    rows = [Problem(id=f"p{n}", kind="disk", severity=1, since_at=1, opened_at=1, last_seen_at=1) for n in range(120)]
    Problem.objects.bulk_create(rows)
    assert ">99+</b>" in as_admin.get(NUMBER).text


def test_only_operators_are_told(as_reviewer):
    assert NUMBER not in as_reviewer.get("/").text
