"""A disk that fills up during a collect: a sentence, and a sound store.

The next collect completes it.
"""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.homes import Home, assistant, result, user
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.kill
# A file system of a few megabytes in its own mount namespace: a real full disk that needs no privilege.
SCRIPT = """
mount -t tmpfs -o size=100m tmpfs "$1" && cp -r "$2" "$1/home" && mount -o remount,size="$4" "$1" || exit 99
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web collect --source "$5" --quiet; echo "first $?"
mount -o remount,size=100m "$1"
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web collect --source "$5" --quiet; echo "second $?"
cp -r "$1/home" "$6"
"""


def counts(home):
    with closing(sqlite3.connect(home / "agents/main/agent/openclaw-agent.sqlite")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert not store.execute("PRAGMA foreign_key_check").fetchall()
        tables = ("sessions", "transcript_events", "conversation_turns", "artifacts", "session_days")
        return [store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_a_full_disk(tmp_path):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    source = Home(tmp_path / "openclaw")
    for number in range(30):
        script = source.transcript()
        for turn in range(30):
            script.add(user(f"Question {turn}"), assistant("", (f"c{turn}", "exec", {"n": turn})))
            script.add(result(f"c{turn}", os.urandom(1200).hex()), assistant(f"Answer {number}"))
    (tmp_path / "small").mkdir()
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(tmp_path / "empty")}
    environment["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    environment.pop("PYTHONDEVMODE", None)
    fixture_cache.copy_home(tmp_path / "empty")
    used = sum(file.stat().st_size for file in (tmp_path / "empty").rglob("*") if file.is_file()) // 1024
    seen, all_counts = set(), []
    for more in (1000, 3000, 80_000):
        arguments = [tmp_path / "small", tmp_path / "empty", sys.executable, f"{used + more}k", source.root]
        command = ["unshare", "-Urm", "sh", "-c", SCRIPT, "sh", *map(str, arguments), str(tmp_path / f"after-{more}")]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        first, second = (line.split()[1] for line in done.stdout.splitlines() if line.startswith(("first", "second")))
        assert "Traceback" not in done.stderr, done.stderr
        assert first == "0" or re.search("No space left|Not enough space", done.stderr), (more, done.stderr)
        assert second == "0", done.stderr
        seen.add(first)
        all_counts.append(counts(tmp_path / f"after-{more}"))
    assert len(seen) > 1
    assert all(table_counts == all_counts[-1] for table_counts in all_counts)
