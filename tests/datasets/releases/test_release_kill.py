"""A killed release leaves no half release, and the next one has its number."""

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

from tests.processes import KILLS, MOST_TRIES, note_kills, wait_for
from tests.suite import fixture_cache

SAMPLES, TURN = 4_000, "annotated_turn"
ROOT = Path(__file__).resolve().parents[3]
CREATE = """
from datasets.releases.dataset_store import create_dataset
create_dataset("killed", options={"train_split": 0.5, "duplicates": "keep"}, by="ann")
create_dataset("whole", options={"train_split": 0.5, "duplicates": "keep"}, by="ann")
"""
RELEASE = """
import sys
from datasets.releases.dataset_store import find_dataset
from datasets.releases.release import release_here
release_here(find_dataset(sys.argv[1]), by="ann")
"""
AT_ONCE = """
import pathlib, sys, time
from datasets.releases.dataset_store import find_dataset
from datasets.releases.release import release_here
from openclaw_web.errors import Refused
dataset, (home, by) = find_dataset("killed"), sys.argv[1:]
pathlib.Path(home, f"ready-{by}").touch()
while len(list(pathlib.Path(home).glob("ready-*"))) < 2:
    time.sleep(0.001)
try:
    release_here(dataset, by=by)
except Refused as refused:
    sys.exit(refused.sentence)
"""
SETUP = """
import django
django.setup()
"""
MEMBERS = """SELECT sample_id, side, status, label_id, content_hash FROM dataset_members member
JOIN dataset_versions version ON version.id = version_id JOIN datasets dataset ON dataset.id = dataset_id
WHERE dataset.name = ? AND number = ? AND state = 'released' ORDER BY sample_id"""
BUILDING = "SELECT count(*) FROM dataset_versions WHERE state = 'building'"
RELEASED = """SELECT number FROM dataset_versions version JOIN datasets dataset ON dataset.id = dataset_id
WHERE name = 'killed' AND state = 'released' ORDER BY number"""
WINNERS = "SELECT number, released_by, member_count FROM dataset_versions WHERE state = 'released'"
HALF = "SELECT count(*) FROM dataset_members m JOIN dataset_versions v ON v.id = version_id WHERE state = 'building'"
pytestmark = [pytest.mark.kill, pytest.mark.nightly]


@pytest.fixture
def store(tmp_path):
    fixture_cache.copy_home(tmp_path)
    store = sqlite3.connect(tmp_path / "state" / "openclaw.sqlite")
    insert_samples(store)
    yield store
    store.close()


def test_kills_leave_no_half_release_and_move_nobody(tmp_path, store):
    assert start_python(tmp_path, CREATE).wait() == 0
    assert start_python(tmp_path, RELEASE, "whole").wait() == 0
    whole = store.execute(MEMBERS, ["whole", 1]).fetchall()
    assert len(whole) == SAMPLES
    halves = 0  # kills that met a release with some of its members
    chance, seconds, kills, tries = random.Random(5), 1.0, 0, 0
    while (kills < KILLS or not halves) and tries < MOST_TRIES:
        tries += 1
        kill_after(seconds * chance.random(), tmp_path, store)
        kills += store.execute(BUILDING).fetchone()[0]
        halves += store.execute(HALF).fetchone()[0] > 0
        for (number,) in store.execute(RELEASED).fetchall():
            assert store.execute(MEMBERS, ["killed", number]).fetchall() == whole
    note_kills(kills, tries)
    assert kills >= KILLS and halves
    assert start_python(tmp_path, RELEASE, "killed").wait() == 0
    numbers = [number for (number,) in store.execute(RELEASED)]
    assert numbers == list(range(1, len(numbers) + 1)), "a number is used once, and none is lost"
    assert store.execute(MEMBERS, ["killed", numbers[-1]]).fetchall() == whole
    assert not store.execute(BUILDING).fetchone()[0]


def test_of_two_releases_at_once_one_wins(tmp_path, store):
    assert start_python(tmp_path, CREATE).wait() == 0
    processes = {by: start_python(tmp_path, AT_ONCE, str(tmp_path), by, stderr=subprocess.PIPE) for by in ("ann", "bo")}
    refusals = {by: process.communicate()[1].decode().strip() for by, process in processes.items()}
    [(number, winner, members)] = store.execute(WINNERS).fetchall()
    [loser] = processes.keys() - {winner}
    assert (number, members) == (1, SAMPLES)
    assert (processes[winner].returncode, refusals[winner]) == (0, "")
    assert (processes[loser].returncode, refusals[loser]) == (
        1,
        f"A release of this dataset is under way, started by {winner}.",
    )


def insert_samples(store):
    columns = "id, sample_type, session_id, content, annotation_status, created_at, agent_id, turn_number"
    columns += ", prompted_by, reply_stop, turn_traits, privacy_checked"
    rows = [
        (f"x{number}", TURN, f"s{number // 5}", content(number), "approved", number, "main", number % 5, "", "", "", 1)
        for number in range(SAMPLES)
    ]
    store.executemany(f"INSERT INTO dataset_samples ({columns}) VALUES ({', '.join('?' * 12)})", rows)
    store.commit()


def content(number):
    words = " ".join(f"n{number}w{word}" for word in range(12))
    return orjson.dumps({"userMessage": f"question {words}", "agentReply": f"answer {words}", "context": []}).decode()


def kill_after(seconds, home, store):
    """Start a release, and kill it `seconds` after its job began unless it ends first."""
    since = int(time.time() * 1_000)
    begun = "SELECT count(*) FROM job_runs WHERE kind = 'dataset_release' AND started_at >= ?"
    process = start_python(home, RELEASE, "killed")
    wait_for(lambda: store.execute(begun, [since]).fetchone()[0] or process.poll() is not None)
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.kill()
    assert process.wait() in (0, -signal.SIGKILL)


def start_python(home, code, *words, **streams):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    return subprocess.Popen([sys.executable, "-c", SETUP + code, *words], cwd=ROOT, env=environment, **streams)
