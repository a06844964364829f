"""Killed backups and restores leave whole archives and homes, and the next run finishes."""

import time

import pytest

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import find_archives, read_tables, run, run_backup, start
from tests.processes import Killer, until_met

pytestmark = pytest.mark.kill


def wait_for_draft(process, folder, pattern):
    """Wait until a process has created a draft or has ended; returns whether it still runs."""
    known = set(folder.glob(pattern))  # drafts of earlier processes
    while process.poll() is None and not set(folder.glob(pattern)) - known:
        time.sleep(0.002)
    return process.poll() is None


def measure_work(process, folder, pattern):
    """Measure how long a process works after it has begun."""
    wait_for_draft(process, folder, pattern)
    began = time.monotonic()
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - began


def test_twenty_killed_backups_leave_no_archive_that_is_not_one(tmp_path):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=8, turns=60, artifacts=300)
    rows, left_behind = read_tables(home), []
    (home / "backups").mkdir()
    killer = Killer(5, measure_work(start(home, "backup", "create"), home / "backups", ".backup.*"))
    for _kill in until_met(killer, and_until=lambda drafts=left_behind: drafts):
        process = start(home, "backup", "create")
        wait_for_draft(process, home / "backups", ".backup.*")
        killer.kill(process)
        left_behind += (home / "backups").glob(".*")
    run_backup(home, "create")
    assert not list((home / "backups").glob(".*"))
    assert read_tables(home) == rows
    states = {row["path"]: row["status"] for row in run_backup(home, "list")["backups"] if row["path"]}
    assert set(states) == set(map(str, find_archives(home)))
    for number, archive in enumerate(find_archives(home)):
        run_backup(tmp_path / f"restored-{number}", "restore", str(archive))
        assert read_tables(tmp_path / f"restored-{number}") == rows


def test_twenty_killed_restores_leave_one_of_both_homes(tmp_path):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=8, turns=60, artifacts=300)
    run_backup(home, "create")
    archive = find_archives(home)[0]
    backed_up = read_tables(home)
    assert run(home, "create_user", "lena")[0] == 0
    old, left_behind = read_tables(home), []
    killer = Killer(
        6, measure_work(start(tmp_path / "new", "backup", "restore", str(archive)), tmp_path, ".new.restoring.*")
    )
    for _kill in until_met(killer, and_until=lambda drafts=left_behind: drafts):
        process = start(home, "backup", "restore", str(archive), "--replace")
        wait_for_draft(process, tmp_path, ".home.restoring.*")
        killer.kill(process)
        assert read_tables(home) in (old, backed_up)
        assert find_archives(home) == [archive]
        left_behind += tmp_path.glob(".home.restoring.*")
    run_backup(home, "restore", str(archive), "--replace")
    assert read_tables(home) == backed_up
    assert not list(tmp_path.glob(".home.restoring.*"))
    # Every home that was moved aside is complete, and the first of them is not lost.
    moved_aside = [read_tables(path) for path in tmp_path.glob("home.before-restore-*")]
    assert old in moved_aside and all(rows in (old, backed_up) for rows in moved_aside)
    assert not (home / "state" / "restoring").exists()
