"""A disk that fills up while an export is written.

The export fails with a sentence and leaves no files; with more room the same export succeeds.
"""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.datasets.exports.test_export_kill import insert_samples
from tests.suite import fixture_cache
from tests.suite.nightly import first

ROOT = Path(__file__).resolve().parents[4]
pytestmark = pytest.mark.kill
# A real file system of a few megabytes in its own mount namespace, which needs no privileges.
SCRIPT = """
mount -t tmpfs -o size=200m tmpfs "$1" && cp -r "$2" "$1/home" && mount -o remount,size="$4" "$1" || exit 99
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web export --format alpaca --name x --quiet; echo "first $?"
ls -A "$1/home/exports" | sed "s/^/left /"
mount -o remount,size=200m "$1"
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web export --format alpaca --name x --quiet; echo "second $?"
"""


@pytest.mark.parametrize("more", first((12_000, 4_000, 30_000)))  # kilobytes; the export needs about 36,000
def test_a_full_disk(tmp_path, more):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    home = tmp_path / "home"
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    fixture_cache.copy_home(home)
    store = sqlite3.connect(home / "state" / "openclaw.sqlite")
    insert_samples(store)
    store.close()
    (tmp_path / "small").mkdir()
    used = sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) // 1024
    arguments = [tmp_path / "small", home, sys.executable, f"{used + more}k"]
    command = ["unshare", "-Urm", "sh", "-c", SCRIPT, "sh", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "first 3", (more, done.stdout, done.stderr)
    assert "No space left in" in done.stderr and "Nothing was exported." in done.stderr
    assert "Traceback" not in done.stderr
    assert "left" not in done.stdout
    assert done.stdout.splitlines()[-1] == "second 0", done.stderr
