"""Cancelling a job from its page and through the API: permissions, outcomes and leftovers."""

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.utils.html import escape

from collecting.models import MigrationRun
from datasets.models import DatasetExport
from jobs import execution
from jobs import kinds as job_kinds
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import CancelledJob, Progress
from openclaw_web import clock
from openclaw_web.disk import locks
from operations.models import BackupRun
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.factories import ExportFactory, JobFactory, SampleFactory
from tests.jobs import jobs_for_tests

pytestmark = pytest.mark.django_db
API = "/api/v1/operations/jobs"


@pytest.fixture(autouse=True)
def kinds(settings):
    settings.JOB_KINDS = settings.JOB_KINDS | jobs_for_tests.KINDS


@pytest.fixture
def at_work():
    """A running job whose process lives."""
    with locks.hold_run_lock("here:1:X"):
        yield JobFactory(kind="lines", state="running", worker="here:1:X", heartbeat_at=clock.now_ms())


def cancel_on_page(browser, job):
    """Press the cancel button; returns the page's text and the row."""
    answer = browser.post(f"{job.get_absolute_url()}cancel/", follow=True)
    job.refresh_from_db()
    return answer.text, job


def cancel_by_api(browser, job_id, **options):
    """Cancel through the API; returns the answer."""
    return browser.post(f"{API}/{job_id}/cancel", content_type="application/json", **options)


def list_cancellers():
    return [entry.actor for entry in AuditEntry.objects.filter(action="job_cancelled")]


def test_a_waiting_job_ends_at_once(as_admin, tmp_path):
    job = jobs.start("lines", {"file": str(tmp_path / "out"), "count": 1}, by="mei")
    before = as_admin.get(job.get_absolute_url()).text
    assert "Cancel job" in before and "If the job is canceled: Its lines are kept." in before
    page, job = cancel_on_page(as_admin, job)
    assert (job.state, job.message) == ("cancelled", "Canceled by root. Its lines are kept.")
    assert (job.cancel_requested_by, job.cancel_requested_at <= job.finished_at) == ("root", True)
    assert job.message in page and "Cancel job" not in page and "If the job is canceled" not in page
    assert execution.run_next() is None and not (tmp_path / "out").exists()
    assert list_cancellers() == ["root"]


def test_a_running_job_is_asked_once(as_admin, at_work):
    page, job = cancel_on_page(as_admin, at_work)
    assert (job.state, job.cancel_requested_by) == ("running", "root")
    assert "Canceled by root. The job ends at its next step." in page and "Cancel job" not in page
    asked_at = job.cancel_requested_at
    cancel_on_page(as_admin, job)
    job.refresh_from_db()
    assert (job.cancel_requested_at, list_cancellers()) == (asked_at, ["root"])


def test_the_button_goes_with_the_job(as_admin, at_work):
    polled = {"HX-Request": "true"}
    assert "job-cancel" not in as_admin.get(at_work.get_absolute_url(), headers=polled).text
    JobRun.objects.update(state="finished")
    last = as_admin.get(at_work.get_absolute_url(), headers=polled).text
    assert '<section id="job-cancel" hx-swap-oob="true" hidden>' in last and "Cancel job" not in last


def test_a_job_that_was_quicker_says_who_wanted_to_cancel_it(as_admin, at_work):
    cancel_on_page(as_admin, at_work)
    JobRun.objects.update(state="finished", finished_at=1)
    page = as_admin.get(at_work.get_absolute_url()).text
    assert "root canceled this job, but the job ended first." in page and "at its next step" not in page


@pytest.mark.parametrize("state", ["finished", "refused", "failed"])
def test_a_job_that_has_ended_stays_what_it_is(as_admin, state):
    job = JobFactory(state=state, message="as it was")
    sentence = f"This job has already ended ({state}): there is nothing to cancel."
    page, job = cancel_on_page(as_admin, job)
    assert sentence in page
    answer = cancel_by_api(as_admin, job.id)
    assert (answer.status_code, answer.json()["detail"], answer.json()["code"]) == (409, sentence, "refused")
    job.refresh_from_db()
    assert (job.state, job.message, job.cancel_requested_at, list_cancellers()) == (state, "as it was", None, [])


def test_programs_cancel(as_admin, at_work):
    answer = cancel_by_api(as_admin, at_work.id, headers={"Idempotency-Key": "once"})
    cancelled = answer.json()
    assert (answer.status_code, cancelled["state"], cancelled["cancel_requested_by"]) == (202, "running", "root")
    again = cancel_by_api(as_admin, at_work.id, headers={"Idempotency-Key": "once"})
    assert (again.json(), again["Idempotency-Replayed"]) == (cancelled, "true")
    JobRun.objects.update(state="cancelled", finished_at=clock.now_ms())
    assert cancel_by_api(as_admin, at_work.id).json()["state"] == "cancelled"
    assert as_admin.get(API, {"state": "cancelled"}).json()["items"][0]["id"] == at_work.id
    assert cancel_by_api(as_admin, "nothing").status_code == 404
    assert list_cancellers() == ["root"]


def test_below_operator_people_cancel_what_they_started(as_reviewer, as_stranger):
    own, other = JobFactory(started_by="reviewer"), JobFactory(started_by="root")
    assert as_reviewer.post(f"{other.get_absolute_url()}cancel/").status_code == 404
    assert cancel_by_api(as_reviewer, other.id).status_code == 404
    assert cancel_on_page(as_reviewer, own)[1].state == "cancelled"
    seen = JobFactory(started_by="stranger")
    assert as_stranger.post(f"{seen.get_absolute_url()}cancel/").status_code == 403
    assert "Cancel job" not in as_stranger.get(seen.get_absolute_url()).text


def test_the_command_cancels(at_work, capsys):
    call_command("jobs", "cancel", at_work.id)
    assert capsys.readouterr().out == "The job ends at its next step.\n"
    waiting = JobFactory(kind="lines")
    call_command("jobs", "cancel", waiting.id, "--json")
    (row,) = orjson.loads(capsys.readouterr().out)["jobs"]
    assert (row["id"], row["state"], row["cancel_requested_by"]) == (waiting.id, "cancelled", "command line")
    assert [(entry.actor, entry.via) for entry in AuditEntry.objects.filter(action="job_cancelled")] == [
        ("command line", "command")
    ] * 2
    ended = JobFactory(state="finished")
    for job_id, why in ((ended.id, "has already ended"), ("nothing", "There is no job nothing.")):
        with pytest.raises(CommandError, match=why) as refused:
            call_command("jobs", "cancel", job_id)
        assert refused.value.returncode == 3


def test_a_job_whose_worker_died_is_not_gone_on_with(as_admin):
    lost = JobFactory(kind="lines", state="running", worker="gone:1:X", heartbeat_at=1, cancel_requested_at=1)
    JobRun.objects.filter(id=lost.id).update(cancel_requested_by="mei")
    assert jobs.recover() == 1 and jobs.recover() == 0
    lost.refresh_from_db()
    assert (lost.state, lost.message) == ("cancelled", "Canceled by mei. Its lines are kept.")


def test_the_kept_words_of_every_kind_stand_on_its_page(as_admin, settings):
    for name in settings.JOB_KINDS.keys() - jobs_for_tests.KINDS.keys():
        job = JobFactory(kind=name)
        assert escape(str(job_kinds.get_kind(name).cancel_text)) in as_admin.get(job.get_absolute_url()).text, name


def test_a_job_of_a_kind_that_is_gone_can_be_cancelled(as_admin):
    _page, job = cancel_on_page(as_admin, JobFactory(kind="defragment"))
    assert (job.state, job.message) == ("cancelled", "Canceled by root.")


class TestWhatIsLeft:
    def lost(self, kind, params_json="{}"):
        """Create a run whose process has died."""
        return JobFactory(kind=kind, state="running", worker="gone:1:X", params_json=params_json)

    def test_an_export_that_waits_is_given_up_and_its_name_is_free(self, as_reviewer, ada):
        SampleFactory(annotation_status="approved")
        as_reviewer.post("/exports/create/", FORM_FIELDS)
        job, export = JobRun.objects.get(), DatasetExport.objects.get()
        cancel_on_page(as_reviewer, job)
        export.refresh_from_db()
        assert (export.state, export.sentence) == ("failed", "The export was canceled before it was complete.")
        assert "The export was canceled before it was complete." in as_reviewer.get(export.get_absolute_url()).text
        assert as_reviewer.post("/exports/create/", FORM_FIELDS).status_code == 302

    @pytest.mark.parametrize(("state", "after"), [("running", "failed"), ("ready", "ready")])
    def test_what_a_killed_export_wrote_is_removed_unless_it_is_ready(self, as_admin, settings, tmp_path, state, after):
        settings.HOME_DIR = tmp_path
        export = ExportFactory(state=state)
        drafts = tmp_path / "exports" / f".{export.id}.01HZZZZZZZZZZZZZZZZZZZZZZZ"
        whole = tmp_path / export.file_path
        for folder in (drafts, whole):
            folder.mkdir(parents=True)
            (folder / "rows").write_text("…")
        cancel_on_page(as_admin, self.lost("export", f'{{"export_id": "{export.id}"}}'))
        export.refresh_from_db()
        assert (export.state, whole.exists()) == (after, after == "ready")
        assert after == "ready" or not drafts.exists()

    def test_of_a_backup_nothing_stays(self, as_admin, real_files):
        (real_files / "state").mkdir(exist_ok=True)
        draft = real_files / "backups" / ".backup.01HZZZZZZZZZZZZZZZZZZZZZZZ"
        draft.mkdir(parents=True)
        BackupRun.objects.create(id="b", created_at=1)
        cancel_on_page(as_admin, self.lost("backup"))
        backup = BackupRun.objects.get()
        assert (backup.status, backup.message, list(draft.parent.iterdir())) == (
            "failed",
            "The backup was canceled.",
            [],
        )

    def test_the_receipt_of_the_doctor_says_so(self, as_admin, real_files):
        (real_files / "state").mkdir(exist_ok=True)
        MigrationRun.objects.create(id="r", started_at=1, root="/somewhere", before_json="{}")
        cancel_on_page(as_admin, self.lost("doctor"))
        run = MigrationRun.objects.get()
        assert (run.status, "was canceled" in run.message) == ("failed", True)

    @pytest.mark.parametrize("kind", ["collect", "retention", "doctor_look"])
    def test_the_next_step_of_a_job_ends_it(self, home, kind):
        home.transcript()
        progress = Progress()
        progress.is_cancelled = True  # as the heartbeat sets it
        with pytest.raises(CancelledJob):
            progress.update(1)
        params = {"source": str(home.root)} if kind in ("collect", "doctor_look") else {"days": 1}
        try:
            job_kinds.get_kind(kind).run(params, progress)
        except CancelledJob:
            return
        assert progress.done == 0, "it went on"
