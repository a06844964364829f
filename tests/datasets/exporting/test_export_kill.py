"""An export that is killed half-way leaves nothing that looks like one, and the next run completes it."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = 12_000
AGAIN = """
import sys, django
django.setup()
from datasets.exporting import exports
from jobs.progress import Progress
exports.build(sys.argv[1], Progress())
"""
pytestmark = pytest.mark.kill


def test_a_killed_export_leaves_nothing_and_is_completed_by_the_next_run(tmp_path):
    assert python(tmp_path, "manage.py", "migrate", "-v0").wait() == 0
    store = sqlite3.connect(tmp_path / "state" / "openclaw.sqlite")
    seed(store)
    folders = tmp_path / "exports"
    while not killed_half_way(tmp_path, folders):  # it was done before this process had its turn again: once more
        shutil.rmtree(folders)
        store.executescript("DELETE FROM dataset_exports; DELETE FROM job_runs")
    (export_id, state) = store.execute("SELECT id, state FROM dataset_exports").fetchone()
    assert state == "running"
    assert half_written(folders) and not (folders / export_id).exists()

    assert python(tmp_path, "-c", AGAIN, export_id).wait() == 0
    assert [folder.name for folder in folders.iterdir()] == [export_id]
    state, checksum, rows = store.execute("SELECT state, checksum, total_samples FROM dataset_exports").fetchone()
    assert (state, rows) == ("ready", SAMPLES)
    assert sum(file.read_bytes().count(b"\n") for file in (folders / export_id).glob("*.jsonl")) == SAMPLES

    # One that nobody disturbed comes to the same bytes.
    assert python(tmp_path, "manage.py", "export", "--format", "alpaca", "--name", "y", "--split", "0.5").wait() == 0
    assert store.execute("SELECT DISTINCT checksum FROM dataset_exports").fetchall() == [(checksum,)]
    store.close()


def killed_half_way(home, folders):
    """Kill an export once it has begun to write; whether it was in time."""
    process = python(home, "manage.py", "export", "--format", "alpaca", "--name", "x", "--split", "0.5")
    while process.poll() is None and not half_written(folders):
        time.sleep(0.005)
    process.kill()
    status = process.wait()
    assert status in (0, -signal.SIGKILL)
    return half_written(folders)


def half_written(folders):
    return [file for file in folders.glob(".*/alpaca.train.jsonl") if file.stat().st_size]


def seed(store):
    columns = "id, sample_type, session_id, content, annotation_status, created_at, agent_id, turn_number"
    rows = (
        (f"x{number}", "annotated_turn", f"s{number // 50}", content(number), "approved", number, "main", number % 50)
        for number in range(SAMPLES)
    )
    store.executemany(f"INSERT INTO dataset_samples ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    store.commit()


def content(number):
    return orjson.dumps({"userMessage": "question", "agentReply": f"answer {number} " * 400, "context": []}).decode()


def python(home, *words):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    return subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
