"""Jobs: rows, recovery of lost ones, schedules, and progress in the terminal."""

import io
import logging

import orjson
import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.urls import reverse
from markupsafe import escape

from jobs import automatic_tasks, execution
from jobs import kinds as job_kinds
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Progress, Terminal
from openclaw_web import clock
from openclaw_web.disk import locks
from people.audit import log as audit
from people.configuration import setting_values as configuration
from tests.factories import JobFactory
from tests.jobs import jobs_for_tests

pytestmark = pytest.mark.django_db
OURS = list(site.JOB_KINDS)


@pytest.fixture(autouse=True)
def kinds(settings):
    settings.JOB_KINDS = settings.JOB_KINDS | jobs_for_tests.KINDS


def run(kind, **params):
    """Start a job and run the next queued one, as the worker does."""
    jobs.start(kind, params, by="root")
    return execution.run_next()


def test_it_works(as_admin, tmp_path):
    job = run("lines", file=str(tmp_path / "out"), count=3)
    assert (tmp_path / "out").read_text() == "0\n1\n2\n"
    assert (job.state, job.done, job.total, job.attempts) == ("finished", 3, 3, 1)
    assert job.log == "line 0\nline 1\nline 2"
    assert orjson.loads(job.result_json) == {"lines": 3}
    assert job.created_at <= job.started_at <= job.finished_at
    assert job.get_absolute_url() in as_admin.get(reverse("jobs:job_list")).text
    assert "line 2\nline 1\nline 0" in as_admin.get(job.get_absolute_url()).text


# The rows


def test_starting_the_same_job_again_gives_the_waiting_one():
    first = jobs.start("lines", {"file": "a", "count": 1}, by="ada")
    assert jobs.start("lines", {"count": 1, "file": "a"}, by="bob").id == first.id
    assert jobs.start("lines", {"count": 2, "file": "a"}, by="bob").id != first.id
    assert JobRun.objects.filter(state="queued").count() == 2


def test_what_waits_longest_runs_first(tmp_path):
    ids = [jobs.start("lines", {"file": str(tmp_path / name), "count": 1}, by="root").id for name in "abc"]
    assert [execution.run_next().id for _time in ids] == ids
    assert execution.run_next() is None


def test_a_job_that_is_taken_twice_runs_once_and_can_be_started_again(tmp_path):
    job = run("lines", file=str(tmp_path / "out"), count=1)
    assert execution.run(job.id) is None
    job.refresh_from_db()
    assert job.attempts == 1
    assert jobs.start("lines", {"file": str(tmp_path / "out"), "count": 1}, by="root").id != job.id


def test_a_kind_that_cannot_be_looked_at_holds_up_no_other(settings, caplog):
    settings.JOB_KINDS = {"unknown": "tests.jobs.jobs_for_tests.UNKNOWN"} | settings.JOB_KINDS
    configuration.put("schedule.backupHours", 24)
    with caplog.at_level(logging.WARNING):
        assert [job.kind for job in automatic_tasks.start_due()] == ["backup"]
    assert "unknown is not started: MEMORY.md cannot be read." in caplog.text


def test_an_unknown_kind_cannot_be_started():
    with pytest.raises(KeyError):
        jobs.start("nonsense", {}, by="root")


def test_a_refused_job_keeps_its_sentence_and_its_reasons(as_admin):
    job = run("refuses")
    assert (job.state, job.message) == ("refused", "Nothing is approved yet. Approve a sample first.")
    page = as_admin.get(job.get_absolute_url()).text
    assert "Nothing is approved yet." in page and "sample-1" in page


def test_a_failed_job_names_the_exception_and_nothing_of_its_content(caplog):
    with caplog.at_level(logging.ERROR):
        job = run("fails")
    assert job.state == "failed" and "ValueError" in job.message
    assert "words of a person" not in orjson.dumps([job.message, job.log, job.result_json]).decode()
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(("count", "width", "first"), [(500, 1, "300 x"), (500, 1_000, "437 xx"), (1, 9_000, "0 xx")])
def test_the_log_is_bounded_and_keeps_the_end(count, width, first):
    job = run("chatters", count=count, width=width)
    assert len(job.log) <= 64_000 and len(job.log.splitlines()) <= 200
    assert job.log.startswith(first)
    assert job.log.splitlines()[-1].startswith(f"{count - 1} ")


def test_what_a_process_reports_after_it_lost_the_run_is_not_written(caplog):
    with caplog.at_level(logging.WARNING):
        job = run("is_taken_over")
    assert (job.state, job.worker, job.result_json) == ("running", "another worker", None)
    assert "given to another worker" in caplog.text


def test_a_job_can_run_in_this_process(tmp_path):
    heard = []
    params = {"file": str(tmp_path / "out"), "count": 2}
    job = jobs.run_now("lines", params, by="ada", listener=lambda *state: heard.append(state))
    assert heard == [(1, 2, "Writing lines"), (2, 2, "Writing lines")]
    assert (job.state, job.started_by) == ("finished", "ada")
    assert execution.run_next() is None
    waiting = jobs.start("lines", params, by="ada")  # the next call takes this waiting job over
    assert jobs.run_now("lines", params, by="bob").id == waiting.id
    assert set(JobRun.objects.values_list("state", flat=True)) == {"finished"}


def test_running_in_this_process_is_refused_while_the_same_job_runs_elsewhere(tmp_path):
    twin = JobFactory(kind="refuses", state="running", heartbeat_at=clock.now_ms())
    job = jobs.run_now("refuses", {}, by="bob")
    assert job.state == "refused" and twin.id in job.message


def test_who_waits_for_a_run_of_another_process_gets_it_when_it_has_ended(tmp_path):
    job = jobs.start("lines", {"file": str(tmp_path / "out"), "count": 2}, by="ada")
    assert execution.run_next().id == job.id and job.state == "queued"  # this object still has its old state
    assert jobs.wait(job).state == "finished"


def test_who_waits_for_a_run_whose_process_went_goes_on_with_it(tmp_path):
    params = JobRun.params.encode({"file": str(tmp_path / "out"), "count": 2})
    lost = JobFactory(kind="lines", params_json=params, state="running", worker="gone", heartbeat_at=1)
    ended = jobs.wait(lost)
    assert (ended.id, ended.state, ended.attempts) == (lost.id, "finished", lost.attempts + 1)


# Lost runs


def lost_job(**columns):
    columns = {"attempts": 1, "heartbeat_at": 1, "worker": "gone:1:X", **columns}
    return JobFactory(kind="refuses", state="running", **columns)


def test_a_run_whose_heartbeat_stopped_is_queued_again():
    job = lost_job()
    assert jobs.recover() == 1
    job.refresh_from_db()
    assert (job.state, job.worker) == ("queued", "")
    assert jobs.recover() == 0
    assert execution.run_next().id == job.id


def test_a_run_with_a_fresh_heartbeat_is_left_alone(later):
    later()  # the clock stands still
    lost_job(heartbeat_at=clock.now_ms() - 14_000)
    assert jobs.recover() == 0


def test_whether_a_process_lives_counts_more_than_its_heartbeat():
    job = lost_job()
    with locks.hold_run_lock(job.worker):
        assert jobs.recover() == 0
    assert jobs.recover() == 1
    died = lost_job(heartbeat_at=clock.now_ms(), worker="gone:1:Y")
    with pytest.raises(SystemExit), locks.hold_run_lock(died.worker):
        raise SystemExit
    assert jobs.recover() == 1


def test_a_job_that_loses_its_worker_three_times_at_the_same_place_has_failed():
    job = lost_job(attempts=3)
    jobs.recover()
    job.refresh_from_db()
    assert job.state == "failed" and "3 times" in job.message
    assert execution.run_next() is None


def test_an_attempt_that_gets_further_starts_the_count_anew():
    job = JobFactory(attempts=3, done=5, total=10)
    for done, expected in ((4, {}), (5, {}), (6, {"attempts": 1})):
        columns = execution._progress_columns(job, Progress(done=done, total=10))
        assert {"attempts": columns.get("attempts")} == {"attempts": expected.get("attempts")}
        assert columns["done"] == max(done, 5)


# The commands and the terminal


def test_the_command_lists_runs(capsys):
    JobFactory(kind="collect", state="finished", message="Done with it.", started_at=1, finished_at=2_001)
    JobFactory(kind="export", state="running", done=7, total=10, created_at=1)
    call_command("jobs")
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[2:] == ["collect", "finished", "100", "%", "2.0", "s", "Done", "with", "it."]
    assert "70 %" in second


def test_the_command_lists_runs_for_programs(capsys):
    JobFactory(id="one", kind="export", state="running", done=7, total=10)
    call_command("jobs", json=True)
    [printed] = orjson.loads(capsys.readouterr().out)["jobs"]
    assert printed | {"id": "one", "kind": "export", "state": "running", "done": 7, "total": 10} == printed


class FakeTerminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_line_that_is_redrawn(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = FakeTerminal()
    terminal = Terminal(stream)
    for done in range(1_001):
        terminal(done, 1_000, "Reading " + "x" * 100)
    terminal.close()
    states = stream.getvalue().split("\r\x1b[2K")
    assert len(states) < 100
    assert states[-1].startswith("[########################] 1,000 of 1,000  100 %  Reading")
    assert all(len(line) <= 60 for line in states)
    assert stream.getvalue().count("\n") == 1


def test_a_pipe_gets_a_plain_line_now_and_then():
    stream = io.StringIO()
    terminal = Terminal(stream)
    for done in range(1_001):
        terminal(done, None, "Reading")
    terminal.close()
    assert stream.getvalue() == "Reading\n1,000  Reading\n"


# Kinds


PARAMS = (
    '{"export_id": "x", "agent": "main", "replay": "x", "handover": "x", "remediation": "x", "trace": "x", "run": 1}'
)


@pytest.mark.parametrize("kind", OURS)
def test_a_kind_is_declared_in_one_place(kind, as_admin):
    """The declaration gives a kind its words in lists and in the audit log."""
    declared = job_kinds.get_kind(kind)
    job = JobFactory(kind=kind, state="finished", result_json="{}", params_json=PARAMS)
    assert f'<option value="{kind}">{escape(str(declared.label))}</option>' in as_admin.get("/operations/jobs/").text
    audit.record("mei", f"{kind}_started", object_type="job", object_id=job.id)
    assert escape(str(declared.audit_text)) in as_admin.get("/operations/audit/", {"action": f"{kind}_started"}).text
    page = as_admin.get(job.get_absolute_url()).text
    assert escape(str(declared.label)) in page
    assert ("View result" in page) == bool(declared.page)


def test_a_job_of_a_kind_that_is_gone_is_called_what_it_was(as_admin):
    job = JobFactory(kind="defragment", state="finished", result_json='{"sectors": 7}')
    audit.record("mei", "defragment_started", object_type="job", object_id=job.id)
    assert "defragment" in as_admin.get("/operations/jobs/").text
    assert "&#34;sectors&#34;: 7" in as_admin.get(job.get_absolute_url()).text
    assert "defragment_started" in as_admin.get("/operations/audit/").text
