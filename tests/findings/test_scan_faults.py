"""Scans beside scans, beside an import, on a locked file and on a full disk."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.findings.scan_helpers import write_mails
from tests.findings.test_scan_kill import collect, read_rows, start, start_scan
from tests.homes import Home
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[2]
SCAN = "from findings import scan; print(scan.scan_all())"
# A small file system in its own mount namespace: a real full disk that needs no privilege.
FULL = """
mount -t tmpfs -o size=200m tmpfs "$1" && cp -r "$2" "$1/home" && mount -o remount,size="$4" "$1" || exit 99
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web shell --no-imports -c "$5"; echo "first $?"
mount -o remount,size=200m "$1"
OPENCLAW_WEB_HOME="$1/home" "$3" -m openclaw_web shell --no-imports -c "$5"; echo "second $?"
cp -r "$1/home" "$6"
"""


@pytest.fixture
def homes(tmp_path):
    """A home with texts, not scanned, and a copy of it that was scanned."""
    source = Home(tmp_path / "openclaw")
    for number in range(25):
        write_mails(source, 40, mail=f"m{number}@hanamail.jp")
    fixture_cache.copy_home(tmp_path / "new")
    collect(tmp_path / "new", source)
    subprocess.run(["cp", "-r", tmp_path / "new", tmp_path / "clean"], check=True)
    assert start_scan(tmp_path / "clean").wait() == 0
    return source, tmp_path


@pytest.mark.nightly
def test_two_scans_at_once_store_each_finding_once(homes):
    _source, folder = homes
    processes = [start_scan(folder / "new") for _number in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert read_rows(folder / "new") == read_rows(folder / "clean")


def test_a_scan_beside_an_import_misses_nothing(homes):
    source, folder = homes
    for number in range(25):
        write_mails(source, 40, mail=f"n{number}@hanamail.jp")
    importing = start(folder / "new", "collect", "--source", str(source.root))
    while importing.poll() is None:
        assert start_scan(folder / "new").wait() == 0
    assert importing.wait() == 0
    collect(folder / "clean", source)
    for name in ("new", "clean"):
        assert start_scan(folder / name).wait() == 0
    assert read_rows(folder / "new") == read_rows(folder / "clean")


def test_a_locked_file_is_waited_for(homes):
    _source, folder = homes
    [file] = (folder / "new").glob("agents/main/agent/openclaw-agent.sqlite")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = start_scan(folder / "new")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        other.execute("ROLLBACK")
    assert process.wait() == 0
    assert read_rows(folder / "new") == read_rows(folder / "clean")


@pytest.mark.kill
@pytest.mark.nightly
def test_a_scan_on_a_full_disk_leaves_a_sound_store_that_the_next_completes(homes):
    _source, folder = homes
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    (folder / "small").mkdir()
    used = sum(file.stat().st_size for file in (folder / "new").rglob("*") if file.is_file()) // 1024
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    statuses = set()
    for more in (700, 1_500, 100_000):
        arguments = [folder / "small", folder / "new", sys.executable, f"{used + more}k", SCAN, folder / f"{more}"]
        command = ["unshare", "-Urm", "sh", "-c", FULL, "sh", *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        first, second = (line.split()[1] for line in done.stdout.splitlines() if line.startswith(("first", "second")))
        assert first == "0" or "disk is full" in done.stderr or "No space left" in done.stderr, done.stderr
        assert second == "0", done.stderr
        statuses.add(first)
        assert read_rows(folder / f"{more}") == read_rows(folder / "clean")
    assert len(statuses) > 1
