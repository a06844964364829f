"""Killed runs and full disks: a copy matches its manifest only when it is right."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.collecting.staging.stage_runs import assert_whole, is_whole, list_files, read_manifest, stage, start_stage
from tests.homes import user
from tests.processes import Killer, until_met
from tests.sqlite_homes import SqliteHome

CHECKOUT = Path(__file__).resolve().parents[3]
DATABASE = "agents/main/agent/openclaw-agent.sqlite"
S1 = "11111111-1111-4111-8111-111111111111"
pytestmark = pytest.mark.kill
# A file system of a few megabytes in its own mount namespace: a real full disk that needs no privilege.
SCRIPT = """
mount -t tmpfs -o size=20m tmpfs "$1" && cp -a "$2" "$1/out" && mount -o remount,size="$3" "$1" || exit 99
"$4" -m openclaw_web stage --to "$1/out" --source "$5"; echo "first $?"
cp -a "$1/out" "$6"
mount -o remount,size=20m "$1"
"$4" -m openclaw_web stage --to "$1/out" --source "$5"; echo "second $?"
cp -a "$1/out" "$7"
"""


@pytest.fixture
def home(tmp_path):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(S1, *[user(f"Question {number} " + "x" * 900) for number in range(3000)])
    for number in range(60):
        home.write(f"workspace/memory/note-{number:02d}.md", f"note {number}\n" * 500)
    return home


def change(home, number):
    """Change the database and several files, and remove one."""
    home.append(S1, *[user(f"More {number}") for _record in range(20)])
    for note in range(0, 60, 7):
        home.write(f"workspace/memory/note-{note:02d}.md", f"note {note} of {number}\n" * 500)
    name = f"workspace/memory/only-{number}.md"
    home.write(name, "a note")
    (home.root / f"workspace/memory/only-{number - 1}.md").unlink(missing_ok=True)


def test_kills_leave_the_copy_before_or_one_that_does_not_match(home, tmp_path):
    target = tmp_path / "out"
    stage(home.root, target)
    generations = {read_manifest(target)["generation"]: list_files(target)}
    began = time.monotonic()
    change(home, 0)
    start_stage(home.root, tmp_path / "measured").wait()
    killer = Killer(7, time.monotonic() - began)
    for number in until_met(killer):
        change(home, number + 1)
        killer.kill(start_stage(home.root, target))
        if is_whole(target):
            manifest = read_manifest(target)
            listed = {name: list_files(target)[name] for name in (*manifest["files"], "manifest.json")}
            fresh = tmp_path / f"fresh-{number}"
            stage(home.root, fresh)  # a copy that nobody killed
            assert listed == generations.get(manifest["generation"]) or is_equal(target, fresh)
            shutil.rmtree(fresh)
        stage(home.root, target)
        assert_whole(target)
        generations[read_manifest(target)["generation"]] = list_files(target)


def is_equal(target, fresh):
    """Whether two copies have the same files, databases the same rows."""
    own, other = list_files(target), list_files(fresh)
    if own.keys() != other.keys() or read_rows(target / DATABASE) != read_rows(fresh / DATABASE):
        return False
    return all(own[name] == other[name] for name in own if name not in ("manifest.json", DATABASE))


def read_rows(file):
    with closing(sqlite3.connect(file)) as store:
        return store.execute("SELECT rowid, * FROM transcript_events ORDER BY 1").fetchall()


def test_a_full_disk(home, tmp_path):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    stage(home.root, tmp_path / "out")
    manifest = (tmp_path / "out" / "manifest.json").read_bytes()
    home.append(S1, *[user(f"More {number} " + os.urandom(600).hex()) for number in range(900)])
    used = sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file()) // 1024
    (tmp_path / "small").mkdir()
    after = [str(tmp_path / "first"), str(tmp_path / "second")]
    words = [str(tmp_path / "small"), str(tmp_path / "out"), f"{used + 800}k", sys.executable, str(home.root), *after]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings", "LANG": "C.UTF-8"}
    command = ["unshare", "-Urm", "sh", "-c", SCRIPT, "sh", *words]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(("first", "second"))] == [
        "first 3",
        "second 0",
    ]
    assert "No space left" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "first" / "manifest.json").read_bytes() == manifest
    assert_whole(tmp_path / "second")
    assert read_manifest(tmp_path / "second")["generation"] != read_manifest(tmp_path / "out")["generation"]
