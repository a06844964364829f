"""Writers and collectors of artifacts, killed at any moment while others adopt the same contents.

The contents that others adopt are those that a collector is about to remove.
"""

import gzip
import hashlib
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests import processes
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.kill
ROUNDS = max(1, processes.KILLS // 2)  # each round kills two writers and the collector

START = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'openclaw_web.settings'; django.setup()\n"
PREPARE = """
from agents import services
db = services.register("main").db
from artifacts import services
from ledger.models import Session, TranscriptEvent
handle = services.stash(db, b"only mentioned")[0].handle
services.remove(db, handle)
session = Session.objects.using(db).create(id="s", created_at=0, last_activity_at=0)
TranscriptEvent.objects.using(db).create(session=session, seq=1, kind="user", created_at=0, event_json=handle)
"""
MENTIONED = hashlib.sha256(b"only mentioned").hexdigest()
ADOPT = """
import random, sys
from artifacts import services
chance = random.Random(int(sys.argv[1]))
print("ready", flush=True)
for round in range(int(sys.argv[2])):
    with services.open_stash_batch("agent_main") as batch:
        for _ in range(chance.randrange(1, 40)):
            number = chance.randrange(200)
            place = services.Place("s", record_id=str(chance.randrange(10**9)))
            batch.add(b"content %d " % number * 3000, place=place, is_compressed=number % 3 == 0)
"""
CLEAR = """
import random, sys
from artifacts.models import Artifact
from operations.artifact_gc import services as artifact_gc
chance = random.Random(int(sys.argv[1]))
print("ready", flush=True)
for round in range(int(sys.argv[2])):
    rows = list(Artifact.objects.using("agent_main").values_list("handle", flat=True).distinct())
    gone = chance.sample(rows, len(rows) // 2)
    Artifact.objects.using("agent_main").filter(handle__in=gone).delete()
    artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="kill")
"""


def python(home, code, *arguments):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_BUSY_SECONDS": "60"}
    environment |= {"OPENCLAW_STATE_DIR": str(home / "no-openclaw-here"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", START + "from agents import databases\n" + code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def finish(process):
    process.communicate()
    assert process.returncode == 0


ALIAS = "databases.get_alias('main')\n"


def check(home):
    """Check that each blob has the hash in its name, and each row its blob.

    Returns the number of blobs and the number of contents with rows.
    """
    root, blobs = home / "artifacts", {}
    for path in (root / "blobs").rglob("*.txt*"):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        digest = path.name[:64]
        assert hashlib.sha256(data).hexdigest() == digest, path
        assert digest not in blobs, path
        blobs[digest] = path
    file = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(file)) as store:
        rows = {handle[-64:] for (handle,) in store.execute("SELECT DISTINCT handle FROM artifacts")}
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    rows.add(MENTIONED)
    assert rows <= blobs.keys()
    return len(blobs), len(rows)


def test_kills_of_writers_lose_nothing_and_leave_no_half_blob(tmp_path):
    finish(python(fixture_cache.copy_home(tmp_path), PREPARE))
    chance, rounds, left_behind = random.Random(11), 0, 0
    while rounds < ROUNDS or (not left_behind and rounds < processes.MOST_TRIES):
        rounds += 1
        running = [python(tmp_path, ALIAS + code, rounds, 10_000) for code in (ADOPT, ADOPT, CLEAR)]
        for process in running:
            assert process.stdout.readline() == "ready\n"
        time.sleep(chance.random() * 0.7)
        chance.shuffle(running)
        for process in running:
            assert process.poll() is None, "it ended by itself"
            process.kill()
            process.wait()
            process.stdout.close()
        left_behind += len(list((tmp_path / "artifacts" / "tmp").iterdir()))
        check(tmp_path)
    processes.note_kills(rounds * len(running), rounds * len(running))  # each was seen at work before
    for code, times in ((ADOPT, 5), (CLEAR, 1)):
        finish(python(tmp_path, ALIAS + code, 99, times))
    blobs, rows = check(tmp_path)
    assert blobs == rows > 0
    assert left_behind, "no kill ever met a writer at work"
    assert not list((tmp_path / "artifacts" / "tmp").iterdir())


def test_processes_that_stash_the_same_bytes_make_one_blob_each(tmp_path):
    finish(python(fixture_cache.copy_home(tmp_path), PREPARE))
    running = [python(tmp_path, ALIAS + ADOPT, 5, 30) for _process in range(3)]
    for process in running:
        finish(process)
    blobs, rows = check(tmp_path)
    assert blobs == rows
    assert blobs == len(list((tmp_path / "artifacts" / "meta").rglob("*.json")))
