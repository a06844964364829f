"""The API of retention for admins: counts, runs and archives."""

import pytest

from jobs import execution
from jobs.models import JobRun
from ledger.models import RemovedSession
from tests.factories import SampleFactory, SessionFactory

RUNS, REMOVED = "/api/v1/operations/retention", "/api/v1/agents/ada/removed-sessions"
pytestmark = pytest.mark.django_db


def post_run(browser, verb, body):
    return browser.post(f"{RUNS}/{verb}", body, content_type="application/json")


def run_queued_job():
    return execution.run(JobRun.objects.get(state=JobRun.State.QUEUED).id)


def test_it_works(as_admin, old):
    SampleFactory(agent_id="ada", session_id=SessionFactory(db="agent_ada", last_activity_at=5_000).id)
    assert as_admin.get(RUNS).json() == {"items": [], "next": None, "previous": None}
    answer = post_run(as_admin, "count", {"days": 400})
    assert answer.status_code == 202 and answer.json()["kind"] == "retention"
    run_queued_job()
    (run,) = as_admin.get(RUNS).json()["items"]
    assert (run["what"], run["days"], run["sessions"], run["kept"]) == ("count", 400, 1, {"samples": 1})
    assert as_admin.get(REMOVED).json()["items"] == []
    assert post_run(as_admin, "archive", {"days": 400}).status_code == 202
    assert run_queued_job().state == JobRun.State.FINISHED
    run = as_admin.get(RUNS).json()["items"][0]
    assert (run["what"], run["sessions"], run["failed_count"]) == ("archive", 1, 0) and run["out"].endswith("archive")
    (gone,) = as_admin.get(REMOVED).json()["items"]
    assert (gone["session_id"], gone["why"]) == (old.id, "archive") and gone["archive"].startswith("archive/ada/")
    assert as_admin.get(REMOVED, {"why": "retention"}).json()["items"] == []
    SessionFactory(db="agent_ada", last_activity_at=1_000)
    post_run(as_admin, "remove", {"days": 400})
    run_queued_job()
    assert as_admin.get(RUNS).json()["items"][0]["what"] == "remove"
    assert as_admin.get(REMOVED, {"why": "retention"}).json()["items"][0]["archive"] == ""


NO_DAYS = [{"days": days} for days in (0, -1, None, "soon", 2**70, 36_501, True, "400", 400.0)]


@pytest.mark.parametrize("body", [*NO_DAYS, {"days": 400, "dry_run": True}, {"days": 400, "agent": "ada"}])
def test_what_is_no_clear_wish_removes_nothing(as_admin, old, body):
    for verb in ("count", "remove", "archive"):
        assert post_run(as_admin, verb, body).status_code in ((400, 422) if body["days"] == 2**70 else (422,))
    assert not JobRun.objects.exists()


def test_a_run_that_was_refused_has_no_numbers(as_admin, old):
    JobRun.objects.create(id="j", kind="retention", state="refused", params_json="{}", result_json=None, created_at=1)
    (run,) = as_admin.get(RUNS).json()["items"]
    assert run["sessions"] is None and run["job"]["state"] == "refused"


@pytest.mark.parametrize("rows", [1, 30])
def test_the_number_of_queries_does_not_grow(as_admin, old, django_assert_max_num_queries, rows):
    for number in range(rows):
        JobRun.objects.create(id=f"j{number}", kind="archive", state="failed", params_json="{}", created_at=number)
        RemovedSession.objects.using("agent_ada").create(
            session_id=f"s{number}", removed_at=number, why="archive", last_activity_at=1
        )
    for address in (RUNS, REMOVED):
        with django_assert_max_num_queries(8):
            assert len(as_admin.get(address).json()["items"]) == rows
