"""The page and the API that clear the artifact store: count first, then remove."""

import orjson
import pytest

from agents.models import Agent
from artifacts import services
from artifacts.store import layout
from jobs import execution
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry

URL = "/operations/artifacts/"
CLEAR = "/operations/artifacts/clear/"
API = "/api/v1/operations/artifacts/gc"
pytestmark = pytest.mark.django_db


@pytest.fixture
def orphan(settings, tmp_path, ada):
    settings.HOME_DIR = tmp_path / "home"
    handle = services.stash("agent_ada", b"an output")[0].handle
    services.remove("agent_ada", handle)
    return handle


def run_queued_job():
    job = JobRun.objects.get(state=JobRun.State.QUEUED)
    return execution.run(job.id)


def count_blobs():
    return len(list(layout.get_root().glob("blobs/sha256/*/*/*")))


def test_it_works(as_admin, orphan):
    page = as_admin.get(URL).text
    assert "No runs yet" in page and "Remove them" not in page
    answer = as_admin.post(CLEAR, {"older_than": "0s", "is_dry_run": "on"})
    assert run_queued_job().state == JobRun.State.FINISHED and count_blobs() == 1
    assert "would be removed" in as_admin.get(answer["Location"]).text
    page = as_admin.get(URL).text
    assert "1 artifact can be removed" in page and 'name="older_than" value="0s"' in page
    as_admin.post(CLEAR, {"older_than": "0s"})
    assert "Remove them" not in as_admin.get(URL).text  # the job is queued
    run_queued_job()
    assert count_blobs() == 0
    assert "1 artifact removed" in as_admin.get(URL).text
    actions = list(AuditEntry.objects.values_list("actor", "action"))
    assert actions.count(("root", "artifact_gc_started")) == 2 and ("root", "artifacts_cleared") in actions


@pytest.mark.parametrize("age", ["a while", "-1d", "9" * 13, "1\x00d"])
def test_an_age_that_is_none_is_said_beside_its_field(as_admin, orphan, age):
    answer = as_admin.post(CLEAR, {"older_than": age, "is_dry_run": "on"})
    assert answer.status_code == 422 and "field--bad" in answer.text
    assert not JobRun.objects.exists()


def test_a_refused_run_is_shown(as_admin, orphan):
    Agent.objects.create(agent_id="<b>gone", created_at=0, updated_at=0)
    as_admin.post(CLEAR, {"is_dry_run": "on"})
    run_queued_job()
    page = as_admin.get(URL).text
    assert "Nothing was removed" in page and "&lt;b&gt;gone" in page and "Remove them" not in page


def test_the_api(as_admin, orphan):
    answer = as_admin.post(API, {}, "application/json")
    assert answer.status_code == 202
    assert orjson.loads(run_queued_job().result_json)["dryRun"] is True
    as_admin.post(API, {"older_than": "0s", "dry_run": False}, "application/json")
    assert orjson.loads(run_queued_job().result_json)["removed"] == 1
    assert count_blobs() == 0
    refused = as_admin.post(API, {"older_than": "a while"}, "application/json")
    assert (refused.status_code, "90s, 30m" in refused.json()["detail"]) == (409, True)
