"""The page of backups, its buttons, its API and its automatic tasks."""

import orjson
import pytest

from jobs import automatic_tasks
from jobs.models import JobRun
from openclaw_web import clock
from operations import checks
from operations.backups import runs
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.factories import BackupRunFactory, UserFactory
from tests.people.test_roles import sign_in_browser

pytestmark = pytest.mark.django_db
PAGE = "/operations/backups/"
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def own_home(settings, tmp_path):
    settings.HOME_DIR = tmp_path
    return tmp_path


def test_one_whose_file_was_taken_away_is_not_called_verified(as_admin, tmp_path):
    BackupRunFactory(archive_path=str(tmp_path / "gone.tar.zst"))
    text = as_admin.get(PAGE).content.decode()
    assert ">Missing<" in text and "Download the backup" not in text


def test_one_that_lacks_contents_says_so(as_admin, tmp_path):
    archive = tmp_path / "openclaw-web-20261121T220000Z.tar.zst"
    archive.touch()
    BackupRunFactory(archive_path=str(archive), status="incomplete", message="Artifacts without content: 1.")
    text = as_admin.get(PAGE).content.decode()
    assert "Incomplete" in text and "Artifacts without content: 1." in text and "Download the backup" in text


def test_it_works(as_admin, tmp_path):
    archive = tmp_path / "openclaw-web-20261121T220000Z.tar.zst"
    archive.touch()
    BackupRunFactory(archive_path=str(archive), archive_bytes=4_200_000, proven_at=clock.now_ms() - DAY_MS)
    page = as_admin.get(PAGE)
    text = page.content.decode()
    assert page.status_code == 200
    assert "4.2 MB" in text and "Verified" in text and "1\xa0day ago" in text and "Download" in text
    assert "more than 30 days" not in text and page.context["is_overdue"] is False


def test_without_a_proof_or_with_an_old_one_it_is_red(as_admin):
    text = as_admin.get(PAGE).text
    assert "No backups yet" in text and "Create a backup, then run a restore test" in text and "notice--bad" in text
    BackupRunFactory(proven_at=clock.now_ms() - 31 * DAY_MS)
    text = as_admin.get(PAGE).text
    assert "more than 30 days ago" in text and "stat--bad" in text


def test_hostile_words_are_text(as_admin):
    BackupRunFactory(archive_path="/x/<script>alert(1)</script>\u202e", made_by="<b>", message="")
    text = as_admin.get(PAGE).content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;" in text and "\u202e" not in text


def test_an_operator_sees_no_buttons(as_operator):
    BackupRunFactory()
    text = as_operator.get(PAGE).text
    assert "Download" not in text and "Create backup" not in text


def test_the_buttons_start_jobs_and_leave_entries(as_admin):
    run = BackupRunFactory()
    for address, kind, params in (
        ("create/", "backup", {"by": "root", "with_exports": True}),
        (f"{run.id}/verify/", "backup_verify", {"backup": run.id}),
        (f"{run.id}/drill/", "backup_drill", {"backup": run.id}),
    ):
        answer = as_admin.post(PAGE + address, {"with_exports": "on"})
        job = JobRun.objects.get(kind=kind)
        assert answer["Location"] == job.get_absolute_url()
        assert (orjson.loads(job.params_json), job.started_by) == (params, "root")
        entry = AuditEntry.objects.get(action=f"{kind}_started")
        assert (entry.actor, entry.via, entry.object_id) == ("root", "page", job.id)
        assert as_admin.get(job.get_absolute_url()).status_code == 200


def test_the_second_of_two_admins_is_told(as_admin):
    mei = sign_in_browser(UserFactory(username="mei", role="admin"))
    mei.post(PAGE + "create/")
    job = JobRun.objects.get(kind="backup")
    answer = as_admin.post(PAGE + "create/", {"with_exports": "on"}, follow=True)
    assert answer.redirect_chain[-1][0] == job.get_absolute_url()
    assert "a job of this kind, started by mei, is queued or running" in answer.content.decode()
    refused = as_admin.post("/api/v1/operations/backups", {}, "application/json")
    assert refused.status_code == 409 and refused.json()["reasons"][0]["id"] == job.id
    assert JobRun.objects.filter(kind="backup").count() == 1
    # The same person gets the same job for the same request.
    assert mei.post(PAGE + "create/")["Location"] == job.get_absolute_url()
    JobRun.objects.update(state="finished")
    assert as_admin.post(PAGE + "create/")["Location"] != job.get_absolute_url()


@pytest.mark.parametrize("status", ["failed", "gone", "running"])
def test_what_is_no_archive_cannot_be_used(as_admin, status):
    run = BackupRunFactory(status=status)
    for address in ("verify/", "drill/"):
        assert as_admin.post(f"{PAGE}{run.id}/{address}").status_code == 404
    assert as_admin.get(f"{PAGE}{run.id}/file").status_code == 404
    assert as_admin.post(f"/api/v1/operations/backups/{run.id}/drill", {}, "application/json").status_code == 404


def test_a_download_is_logged(as_admin, tmp_path):
    path = tmp_path / "openclaw-web-20261121T220000Z.tar.zst"
    path.write_bytes(b"0123456789")
    run = BackupRunFactory(archive_path=str(path), archive_sha256="ab" * 32)
    answer = as_admin.get(f"{PAGE}{run.id}/file")
    assert b"".join(answer.streaming_content) == b"0123456789"
    assert path.name in answer["Content-Disposition"]
    part = as_admin.get(f"{PAGE}{run.id}/file", headers={"Range": "bytes=4-6"})
    assert (part.status_code, b"".join(part.streaming_content)) == (206, b"456")
    beyond = as_admin.get(f"{PAGE}{run.id}/file", headers={"Range": "bytes=40-"})
    assert (beyond.status_code, beyond["Content-Range"]) == (416, "bytes */10")
    entry = AuditEntry.objects.filter(action="downloaded").latest("id")
    assert (entry.actor, entry.object_type, entry.object_id) == ("root", "backup", run.id)
    path.unlink()
    assert as_admin.get(f"{PAGE}{run.id}/file").status_code == 404


def test_the_api(as_admin):
    run = BackupRunFactory(manifest_json='{"id": "x"}')
    listed = as_admin.get("/api/v1/operations/backups").json()
    assert [item["id"] for item in listed["items"]] == [run.id] and "manifest_json" not in listed["items"][0]
    made = as_admin.post("/api/v1/operations/backups", {"with_exports": True}, "application/json")
    assert (made.status_code, made.json()["kind"]) == (202, "backup")
    for verb in ("verify", "drill"):
        answer = as_admin.post(f"/api/v1/operations/backups/{run.id}/{verb}", {}, "application/json")
        assert (answer.status_code, answer.json()["kind"]) == (202, f"backup_{verb}")
    assert as_admin.post("/api/v1/operations/backups/..%2f/verify", {}, "application/json").status_code == 404


class TestSchedule:
    def test_everything_is_off_by_default(self, as_admin):
        assert automatic_tasks.start_due() == [] and not JobRun.objects.exists()
        assert as_admin.get(PAGE).content.decode().count(">off<") == 10

    def test_a_task_runs_when_it_is_due_and_the_page_tells_of_it(self, as_admin, later):
        configuration.put("schedule.backupHours", 24)
        configuration.put("backup.keep", 3)
        (job,) = automatic_tasks.start_due()
        assert (job.kind, job.started_by) == ("backup", "schedule")
        assert orjson.loads(job.params_json) == {"by": "schedule", "keep": 3}
        assert automatic_tasks.start_due() == []  # the job is queued
        JobRun.objects.update(state="finished", finished_at=clock.now_ms(), message="/backups/x, 5 bytes, verified.")
        assert automatic_tasks.start_due() == []
        text = as_admin.get(PAGE).text
        assert job.get_absolute_url() in text and "/backups/x, 5 bytes" in text and "24 h" in text
        later(hours=23.9)
        assert automatic_tasks.start_due() == []
        later(hours=24.1)
        assert len(automatic_tasks.start_due()) == 1

    def test_a_failed_run_waits_for_its_turn(self, later):
        configuration.put("schedule.drillDays", 7)
        assert automatic_tasks.start_due() == []  # there is no backup to restore test
        BackupRunFactory()
        assert len(automatic_tasks.start_due()) == 1
        JobRun.objects.update(state="failed")
        assert automatic_tasks.start_due() == []
        later(hours=7 * 24 + 1)
        assert len(automatic_tasks.start_due()) == 1

    def test_one_of_two_that_look_at_once_starts_it(self):
        configuration.put("schedule.backupHours", 1)
        both = [automatic_tasks.read_tasks(), automatic_tasks.read_tasks()]
        started = [automatic_tasks._start_if_due(state) for states in both for state in states]
        assert len([job for job in started if job]) == 1


def test_a_file_that_cannot_be_looked_for_is_missing(as_admin, tmp_path):
    """Nobody can look for this name, not even root: it is like a closed folder."""
    run = BackupRunFactory(archive_path=str(tmp_path / ("x" * 300) / "openclaw-web-20261121T220000Z.tar.zst"))
    text = as_admin.get(PAGE).text
    assert ">Missing<" in text
    assert as_admin.get(f"{PAGE}{run.id}/file").status_code == 404
    assert list(next(check for check in checks.CHECKS if check.name == "backup_files").find("default")) == []
    runs.sync_with_disk()
    run.refresh_from_db()
    assert run.status == "gone"
