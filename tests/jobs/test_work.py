"""`work` as a real process: jobs survive killed workers, and none runs twice."""

import os
import signal

import pytest

from tests.processes import KILLS, Home, note_kills, wait_for

pytestmark = pytest.mark.kill
RUN_NOW = "from jobs import services; print(services.run_now({!r}, {!r}, by='ada').state)"
CANCEL = "from jobs import models, services; print(services.cancel(models.JobRun(id={!r}), by='mei').state)"


@pytest.fixture
def home(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    yield home
    home.close()


@pytest.fixture
def gate(tmp_path):
    """How many lines a job may write: `gate(20)`."""

    def gate(number):
        draft = tmp_path / "gate.new"
        draft.write_text(str(number))
        draft.replace(tmp_path / "gate")
        return str(tmp_path / "gate")

    return gate


def numbers(count):
    return [str(number) for number in range(count)]


def test_it_works(home, tmp_path):
    worker = home.start("work")
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=5)
    wait_for(lambda: home.job(job_id)["state"] == "finished")
    assert (tmp_path / "out").read_text().split() == numbers(5)
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0, worker.said


def test_a_worker_that_has_grown_ends_after_all_jobs(home, tmp_path):
    """`serve` starts another one, without the memory that the jobs took."""
    job_ids = [home.start_job("lines", file=str(tmp_path / name), count=5) for name in ("one", "two")]
    worker = home.start("shell", "--no-imports", "-c", "from jobs import worker; worker.work(-1)")
    assert worker.end() == 0, worker.said
    assert [home.job(job_id)["state"] for job_id in job_ids] == ["finished", "finished"]


def test_a_job_whose_worker_is_killed_twenty_times_is_done_once(home, tmp_path, gate):
    out = tmp_path / "out"
    job_id = home.start_job("lines", file=str(out), count=2_000, pause=0.002, gate=gate(0))
    for kill in range(KILLS):
        gate(kill * 50 + 50)
        worker = home.start("work")
        wait_for(lambda kill=kill: home.job(job_id)["done"] > kill * 50)
        os.kill(worker.pid, signal.SIGKILL)
        worker.end()
        assert home.job(job_id)["state"] == "running"
    note_kills(KILLS, KILLS)
    gate(2_000)
    home.start("work")
    wait_for(lambda: home.job(job_id)["state"] == "finished")
    job = home.job(job_id)
    assert out.read_text().split() == numbers(2_000)
    assert (job["done"], job["total"]) == (2_000, 2_000)
    assert home.count("SELECT count(*) FROM job_runs") == 1
    assert not list((home.path / "state" / "running").iterdir())


def test_a_job_that_kills_its_worker_at_the_same_place_fails(home):
    job_id = home.start_job("stays_put", pause=0.2)
    for _attempt in range(3):
        assert home.start("work").end() == -signal.SIGKILL
    last = home.start("work")
    wait_for(lambda: home.job(job_id)["state"] == "failed")
    assert "3 times" in home.job(job_id)["message"]
    assert last.popen.poll() is None


def test_a_running_job_is_cancelled_at_its_next_step_and_the_next_one_runs(home, tmp_path, gate):
    out = tmp_path / "out"
    job_id = home.start_job("lines", file=str(out), count=1_000, gate=gate(20))
    waiting = home.start_job("lines", file=str(tmp_path / "other"), count=5)
    worker = home.start("work")
    wait_for(lambda: home.job(job_id)["done"] == 20)
    home.python(CANCEL.format(job_id))
    gate(21)  # the job checked for a cancellation before that line, and stops before the next
    wait_for(lambda: home.job(job_id)["done"] == 21 or home.job(job_id)["state"] == "cancelled")
    gate(1_000)
    wait_for(lambda: home.job(waiting)["state"] == "finished")
    job = home.job(job_id)
    assert (job["state"], job["message"]) == ("cancelled", "Canceled by mei. Its lines are kept.")
    assert job["done"] in (20, 21)
    assert out.read_text().split()[:20] == numbers(20) and worker.popen.poll() is None
    assert not list((home.path / "state" / "running").iterdir())


@pytest.mark.parametrize(
    ("kind", "is_cancelled", "state", "count"),
    [("terminal_lines", False, "finished", 40), ("lines", True, "cancelled", 20)],
)
def test_a_job_of_a_page_goes_on_after_a_kill_unless_it_was_cancelled(
    home, tmp_path, gate, kind, is_cancelled, state, count
):
    job_id = home.start_job(kind, file=str(tmp_path / "out"), count=40, gate=gate(20))
    worker = home.start("work")
    wait_for(lambda: home.job(job_id)["done"] == 20)
    if is_cancelled:
        home.python(CANCEL.format(job_id))
    os.kill(worker.pid, signal.SIGKILL)
    worker.end()
    gate(40)
    home.start("work")
    wait_for(lambda: home.job(job_id)["state"] == state)
    assert (tmp_path / "out").read_text().split() == numbers(count)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize(("kind", "goes_on"), [("terminal_lines", False), ("lines", True)])
def test_what_ends_with_its_terminal_is_left_to_a_person(home, tmp_path, gate, number, kind, goes_on):
    out, params = tmp_path / "out", {"file": str(tmp_path / "out"), "count": 40, "gate": gate(20)}
    worker = home.start("work")
    terminal = home.start("shell", "--no-imports", "-c", RUN_NOW.format(kind, params))
    wait_for(lambda: home.count("SELECT max(done) FROM job_runs") == 20)
    job_id = home.count("SELECT id FROM job_runs")
    terminal.signal(number)
    terminal.end()
    gate(40)
    end = "failed" if number == signal.SIGINT else "finished"
    wait_for(lambda: home.job(job_id)["state"] == (end if goes_on else "stopped"))
    after = home.start_job("lines", file=str(tmp_path / "after"), count=1)
    wait_for(lambda: home.job(after)["state"] == "finished")  # and holds up nothing
    is_whole = goes_on and number != signal.SIGINT
    assert out.read_text().split() == numbers(40 if is_whole else 20)
    if not goes_on:
        assert home.job(job_id)["message"].startswith("Stopped: its process in the terminal has ended.")
        again = home.start_job(kind, **params)
        assert again != job_id
        wait_for(lambda: home.job(again)["state"] == "finished")  # a run started on a page goes on with the worker
        assert out.read_text().split() == numbers(40) and worker.popen.poll() is None


def test_under_nohup_a_run_outlives_its_terminal(home, tmp_path, gate):
    params = {"file": str(tmp_path / "out"), "count": 40, "gate": gate(20)}
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    terminal = home.start("shell", "--no-imports", "-c", ignoring + RUN_NOW.format("terminal_lines", params))
    wait_for(lambda: home.count("SELECT max(done) FROM job_runs") == 20)
    terminal.signal(signal.SIGHUP)
    gate(40)
    assert terminal.end() == 0 and "finished" in terminal.said


def test_of_two_that_recover_at_once_one_does(home, tmp_path, gate):
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=300, gate=gate(20))
    worker = home.start("work")
    wait_for(lambda: home.job(job_id)["done"] > 10)
    os.kill(worker.pid, signal.SIGKILL)
    worker.end()
    together = "import time; from jobs import services as jobs; time.sleep(-time.time() % 2); print(jobs.recover())"
    both = [home.start("shell", "--no-imports", "-c", together) for _number in range(2)]
    assert all(process.end() == 0 for process in both)
    assert sorted(process.said.split()[-1] for process in both) == ["0", "1"]
    assert home.job(job_id)["state"] == "queued"


def test_several_workers_share_the_jobs_and_run_each_once(home, tmp_path):
    ids = [home.start_job("lines", file=str(tmp_path / f"out-{n}"), count=20, pause=0.01) for n in range(4)]
    for _worker in range(3):
        home.start("work")
    wait_for(lambda: all(home.job(job_id)["state"] == "finished" for job_id in ids))
    assert all((tmp_path / f"out-{n}").read_text().split() == numbers(20) for n in range(4))
    assert all(home.job(job_id)["attempts"] == 1 for job_id in ids)


def test_a_busy_database_delays_progress_and_loses_nothing(home, tmp_path, gate):
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=200, gate=gate(20))
    home.start("work")
    wait_for(lambda: home.job(job_id)["done"] == 20)
    with home.locked():
        gate(200)
        wait_for(lambda: (tmp_path / "out").read_text().count("\n") == 200)
        assert home.job(job_id)["done"] == 20
    wait_for(lambda: home.job(job_id)["state"] == "finished")
    assert home.job(job_id)["attempts"] == 1


def test_a_stop_is_quick_when_nothing_runs(home):
    worker = home.start("work")
    job_id = home.start_job("refuses")
    wait_for(lambda: home.job(job_id)["state"] == "refused")
    worker.signal(signal.SIGINT)
    assert worker.end() == 0, worker.said
    assert "Traceback" not in worker.said
