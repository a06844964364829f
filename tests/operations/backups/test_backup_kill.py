"""Backups and restores that are killed at any moment: no half archive, no half home, and the next run finishes."""

import time

import pytest

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import archives, receipt, run, start, tables
from tests.processes import Killer, until_met

pytestmark = pytest.mark.kill


def begun(process, folder, pattern):
    """Wait until a process has begun to write (a draft has appeared) or has ended; whether it still runs."""
    known = set(folder.glob(pattern))  # what one before it left
    while process.poll() is None and not set(folder.glob(pattern)) - known:
        time.sleep(0.002)
    return process.poll() is None


def span(process, folder, pattern):
    """How long a process is at work once it has begun."""
    begun(process, folder, pattern)
    began = time.monotonic()
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - began


def test_twenty_killed_backups_leave_no_archive_that_is_not_one(tmp_path):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=8, turns=60, artifacts=300)
    rows, left_behind = tables(home), 0
    (home / "backups").mkdir()
    killer = Killer(5, span(start(home, "backup", "create"), home / "backups", ".backup.*"))
    for _kill in until_met(killer):
        process = start(home, "backup", "create")
        begun(process, home / "backups", ".backup.*")
        killer.kill(process)
        left_behind += len(list((home / "backups").glob(".*")))
    assert left_behind
    receipt(home, "create")
    assert not list((home / "backups").glob(".*"))
    assert tables(home) == rows
    states = {row["path"]: row["status"] for row in receipt(home, "list")["backups"] if row["path"]}
    assert set(states) == set(map(str, archives(home)))
    for number, archive in enumerate(archives(home)):
        receipt(tmp_path / f"restored-{number}", "restore", str(archive))
        assert tables(tmp_path / f"restored-{number}") == rows


def test_twenty_killed_restores_leave_one_of_both_homes(tmp_path):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=8, turns=60, artifacts=300)
    receipt(home, "create")
    archive = archives(home)[0]
    wanted = tables(home)
    assert run(home, "create_user", "lena")[0] == 0
    old, left_behind = tables(home), 0
    killer = Killer(6, span(start(tmp_path / "new", "backup", "restore", str(archive)), tmp_path, ".new.restoring.*"))
    for _kill in until_met(killer):
        process = start(home, "backup", "restore", str(archive), "--replace")
        begun(process, tmp_path, ".home.restoring.*")
        killer.kill(process)
        assert tables(home) in (old, wanted)
        assert archives(home) == [archive]
        left_behind += len(list(tmp_path.glob(".home.restoring.*")))
    assert left_behind
    receipt(home, "restore", str(archive), "--replace")
    assert tables(home) == wanted
    assert not list(tmp_path.glob(".home.restoring.*"))
    # Every home that was moved aside is a whole one, and the first one among them is not lost.
    kept = [tables(path) for path in tmp_path.glob("home.before-restore-*")]
    assert old in kept and all(rows in (old, wanted) for rows in kept)
    assert not (home / "state" / "restoring").exists()
