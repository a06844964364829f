"""The API of the doctor: findings, runs with receipts, excluded sessions, and jobs."""

import orjson
import pytest

from collecting.models import MigrationSource
from jobs.models import JobRun
from operations.doctor import ignored_sessions, report
from tests.operations.doctor.test_doctor import HOSTILE, create_check, create_run

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/operations/doctor"


def post(client, path, body=None):
    return client.post(f"{ROOT}/{path}", body or {}, "application/json")


def test_it_works(as_admin, settings):
    assert as_admin.get(ROOT).json() == {"job": None, "under_way": None, "receipt": None}
    job = create_check()
    status = as_admin.get(ROOT).json()
    assert (status["job"]["id"], status["receipt"]["message"]) == (job.id, "3 sources to read.")
    assert status["receipt"].keys() >= report.EMPTY_PLAN.keys()
    started = post(as_admin, "look")
    assert (started.status_code, started.json()["kind"]) == (202, "doctor_look")
    assert as_admin.get(ROOT).json()["under_way"]["id"] == started.json()["id"]
    assert post(as_admin, "look").json()["id"] == started.json()["id"]


def test_the_page_and_the_api_ask_for_the_same_job(as_admin):
    params = {"sources": "archive", "include_deleted": True}
    job = post(as_admin, "fix", params).json()
    as_admin.post("/operations/doctor/fix/", {"sources": "archive", "include_deleted": "on"})
    assert [run.id for run in JobRun.objects.filter(kind="doctor")] == [job["id"]]
    assert post(as_admin, "fix", {"sources": "burn"}).status_code == 422


def test_comparing_and_importing_again(as_admin, ada, settings):
    source = {"source": str(settings.STATE_DIR)}
    started = post(as_admin, "compare")
    assert (started.status_code, started.json()["kind"]) == (202, "doctor_look")
    assert orjson.loads(JobRun.objects.get(kind="doctor_look").params_json) == source | {"deep": True}
    assert post(as_admin, "again", {"agent": "nobody"}).status_code == 404
    assert post(as_admin, "again", {"session": "s1"}).status_code == 409
    assert post(as_admin, "again", {"agent": "ada", "session": "s1"}).status_code == 202
    params = source | {"again": True, "agent": "ada", "session": ["s1"]}
    assert orjson.loads(JobRun.objects.get(kind="collect").params_json) == params
    post(as_admin, "fix", {"deep": True, "accept_losses": True})
    params = orjson.loads(JobRun.objects.get(kind="doctor").params_json)
    assert (params["deep"], params["accept_losses"]) == (True, True)


def test_runs_and_their_receipts(as_admin):
    facts = {"backup": {"path": "/b"}, "sessions": {"ada": ["s1", "s2"]}, "warnings": [{}] * 1_001}
    run = create_run(2, report_json=orjson.dumps(facts).decode(), message=HOSTILE)
    create_run(1)
    source = {"migration_kind": "transcript", "source_path": HOSTILE, "target_table": "transcript_events"}
    MigrationSource.objects.create(source_key="k", last_run=run, status="warning", **source)
    listed = as_admin.get(f"{ROOT}/runs", {"limit": 1}).json()
    assert [item["id"] for item in listed["items"]] == [run.id] and listed["next"]
    detail = as_admin.get(f"{ROOT}/runs/{run.id}").json()
    cut = {"sessions": {"ada": 2}, "warnings": [{}] * 1_000, "cut": {"warnings": 1_001}}
    assert (detail["receipt"], detail["message"]) == ({"backup": {"path": "/b"}} | cut, HOSTILE)
    (source_row,) = as_admin.get(f"{ROOT}/runs/{run.id}/sources").json()["items"]
    assert (source_row["source_path"], source_row["status"], source_row["removed_source"]) == (
        HOSTILE,
        "warning",
        False,
    )
    for path in ("runs/none", "runs/none/sources", "runs/..%2f"):
        assert as_admin.get(f"{ROOT}/{path}").status_code == 404


def test_undoing_and_letting_in(as_admin):
    run, undone = create_run(2), create_run(1, status="undone")
    job = post(as_admin, f"runs/{run.id}/undo", {"force": True}).json()
    assert orjson.loads(JobRun.objects.get(id=job["id"]).params_json) == {"run": run.id, "by": "root", "force": True}
    assert post(as_admin, f"runs/{undone.id}/undo").status_code == 404
    ignored_sessions.ignore_sessions(undone, "ada", {"one", "two"})
    items = as_admin.get(f"{ROOT}/ignored").json()["items"]
    assert sorted(item["session_id"] for item in items) == ["one", "two"]
    assert {(item["agent"], item["run"]) for item in items} == {("ada", undone.id)}
    job = post(as_admin, "unignore", {"what": "ada/one"}).json()
    assert orjson.loads(JobRun.objects.get(id=job["id"]).params_json) == {"what": "ada/one", "by": "root"}
    assert post(as_admin, "unignore", {"what": "x" * 501}).status_code == 422
