"""A killed export leaves no folder that looks complete, and the next run completes it."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.processes import FEW, MOST_TRIES, note_kills, wait_for
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = 12_000
ASK = """
import django
django.setup()
from datasets.exports import jobs
jobs.start_export("asked", "alpaca", "reply", by="ann")
"""
pytestmark = pytest.mark.kill


@pytest.fixture
def store(tmp_path):
    """The database of a home with many samples."""
    fixture_cache.copy_home(tmp_path)
    store = sqlite3.connect(tmp_path / "state" / "openclaw.sqlite")
    insert_samples(store)
    yield store
    store.close()


def test_the_next_command_clears_away_what_a_kill_left_and_says_so(tmp_path, store):
    """Kills between the first and the last byte; the command after each kill only reads."""
    folders, chance, seconds, outcomes = tmp_path / "exports", random.Random(8), 1.5, []
    for number in range(MOST_TRIES):
        is_done = kill_after(seconds * chance.random(), tmp_path, store, f"n{number}")
        output = read_stderr(tmp_path, "jobs")
        [state] = store.execute("SELECT state FROM dataset_exports WHERE export_name = ?", [f"n{number}"]).fetchone()
        outcomes.append(state)
        assert state in ("ready", "failed"), output
        assert (f"The export “n{number}” was interrupted" in output) == (not is_done), output
        assert {folder.name for folder in folders.glob("*")} | {*folders.glob(".*")} == find_ready(store)
        assert find_indexes(tmp_path) == find_ready(store)
        running = store.execute(
            "SELECT count(*) FROM job_runs WHERE state IN ('running', 'queued') AND kind = 'export'"
        ).fetchone()
        assert running == (0,)
        if outcomes.count("failed") == FEW:
            break
    note_kills(outcomes.count("failed"), len(outcomes))
    assert outcomes.count("failed") == FEW
    assert read_stderr(tmp_path, "jobs") == "", "it is said once"
    # The name is free, and nothing is in the way.
    free = outcomes.index("failed")
    assert start_python(tmp_path, "manage.py", "export", "--format", "alpaca", "--name", f"n{free}").wait() == 0


def test_a_draft_that_a_living_process_writes_is_not_touched(tmp_path, store):
    folders = tmp_path / "exports"
    process = start_python(tmp_path, "manage.py", "export", "--format", "alpaca", "--name", "x")
    try:
        wait_for(lambda: find_drafts(folders) or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)
        before = sorted(folders.glob(".*"))
        assert before and process.poll() is None
        assert read_stderr(tmp_path, "jobs") == ""
        assert sorted(folders.glob(".*")) == before
        process.send_signal(signal.SIGCONT)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
    assert store.execute("SELECT state, total_samples FROM dataset_exports").fetchone() == ("ready", SAMPLES)


def test_what_the_site_promised_is_written_again_by_its_worker(tmp_path, store):
    """After a worker is killed, the next worker completes the export.

    The command in between removes the draft.
    """
    assert start_python(tmp_path, "-c", ASK).wait() == 0
    folders = tmp_path / "exports"
    worker = start_python(tmp_path, "manage.py", "work")
    wait_for(lambda: find_drafts(folders))
    worker.kill()
    worker.wait()
    output = read_stderr(tmp_path, "jobs")
    assert "The export “asked” was interrupted. The job worker writes its files again." in output
    assert not list(folders.glob(".*"))
    (tmp_path / "export-rows").mkdir(exist_ok=True)
    (tmp_path / "export-rows" / "01J0000000000000000000DEAD.idx").write_bytes(bytes(8))  # of an export that is no more
    worker = start_python(tmp_path, "manage.py", "work")
    state = "SELECT state FROM job_runs WHERE kind = 'export'"
    wait_for(lambda: store.execute(state).fetchone() == ("finished",))
    worker.terminate()
    worker.wait()
    assert store.execute("SELECT state, total_samples FROM dataset_exports").fetchone() == ("ready", SAMPLES)
    assert find_indexes(tmp_path) == find_ready(store)
    message = store.execute("SELECT message FROM job_runs WHERE kind = 'export'").fetchone()[0]
    assert message.startswith("Interrupted before")
    # An undisturbed export has the same rows.
    assert start_python(tmp_path, "manage.py", "export", "--format", "alpaca", "--name", "y").wait() == 0
    for side in ("train", "test"):
        interrupted, undisturbed = (file.read_bytes() for file in folders.glob(f"*/*.{side}.jsonl"))
        assert interrupted == undisturbed


def test_after_a_kill_when_the_files_were_complete_its_rows_can_be_looked_at(tmp_path, store):
    """The state between the files and the notes about them, set by hand.

    A kill would hardly ever hit so short a moment.
    """
    assert start_python(tmp_path, "manage.py", "export", "--format", "alpaca", "--name", "x").wait() == 0
    noted = "SELECT places_json FROM dataset_exports WHERE state = 'ready'"
    before = store.execute(noted).fetchone()
    reset = "UPDATE job_runs SET state = 'running', finished_at = NULL, worker = 'a process that went'"
    store.execute(f"{reset}, heartbeat_at = 1 WHERE kind = 'export'")
    store.execute("UPDATE dataset_exports SET places_json = NULL, difference_json = NULL")
    store.commit()
    assert "The export “x” was interrupted when its files were complete: it is finished." in read_stderr(
        tmp_path, "jobs"
    )
    assert store.execute(noted).fetchone() == before
    assert read_stderr(tmp_path, "jobs") == "", "it is said once"


def find_indexes(home):
    """The ids of the exports that have an index of their rows."""
    return {path.stem for path in (home / "export-rows").glob("*")}


def kill_after(seconds, home, store, name):
    """Start an export and kill it `seconds` after its row exists; return whether it ended first."""
    query = "SELECT 1 FROM dataset_exports WHERE export_name = ?"
    process = start_python(home, "manage.py", "export", "--format", "alpaca", "--name", name)
    wait_for(lambda: store.execute(query, [name]).fetchone() or process.poll() is not None)
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.kill()
    return process.wait() == 0


def find_ready(store):
    return {row[0] for row in store.execute("SELECT id FROM dataset_exports WHERE state = 'ready'")}


def read_stderr(home, *words):
    """Run a command and return its standard error."""
    process = start_python(home, "manage.py", *words, stderr=subprocess.PIPE)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return errors.decode()


def find_drafts(folders):
    return [file for file in folders.glob(".*/ocl_*_alpaca.train.jsonl") if file.stat().st_size]


def insert_samples(store):
    columns = "id, sample_type, session_id, content, annotation_status, created_at, agent_id, turn_number"
    columns += ", prompted_by, reply_stop, turn_traits, privacy_checked"
    rows = (
        (
            f"x{number}",
            "annotated_turn",
            f"s{number // 50}",
            content(number),
            "approved",
            number,
            "main",
            number % 50,
            "",
            "",
            "",
            1,
        )
        for number in range(SAMPLES)
    )
    store.executemany(f"INSERT INTO dataset_samples ({columns}) VALUES ({', '.join('?' * 12)})", rows)
    store.commit()


def content(number):
    return orjson.dumps({"userMessage": "question", "agentReply": f"answer {number} " * 400, "context": []}).decode()


def start_python(home, *words, stderr=subprocess.DEVNULL):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    return subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=stderr
    )
