"""Copies of databases that another process writes to."""

import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections import namedtuple
from contextlib import closing

import pytest

from agents.database_copies import Copies, NotCopied

WRITER = """
import random, sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("PRAGMA wal_autocheckpoint=20")
print("ready", flush=True)
while True:
    here, there, much = random.randrange(200), random.randrange(200), random.randrange(50)
    store.execute("BEGIN IMMEDIATE")
    store.execute("UPDATE accounts SET amount = amount - ? WHERE id = ?", (much, here))
    store.execute("UPDATE accounts SET amount = amount + ? WHERE id = ?", (much, there))
    store.execute("COMMIT")
"""


@pytest.fixture
def root(tmp_path, settings):
    settings.HOME_DIR = tmp_path / "ours"
    root = tmp_path / "theirs"
    root.mkdir()
    with closing(sqlite3.connect(root / "bank.sqlite")) as store:
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, amount INTEGER, notes TEXT)")
        store.executemany("INSERT INTO accounts VALUES (?, 100, ?)", [(number, "x" * 3000) for number in range(200)])
        store.commit()
    return root


def sum_amounts(copy):
    with closing(sqlite3.connect(f"{copy.path.as_uri()}?mode=ro", uri=True)) as store:
        assert store.execute("PRAGMA quick_check").fetchone() == ("ok",)
        return store.execute("SELECT sum(amount) FROM accounts").fetchone()[0]


def test_it_works(root, settings):
    with Copies() as copies, copies.open_copy(root, root / "bank.sqlite") as copy:
        assert sum_amounts(copy) == 20_000
        folder = copy.path.parent
        assert folder.is_relative_to(settings.HOME_DIR)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(copy.path.stat().st_mode) == 0o600
    assert not folder.exists()
    assert [file.name for file in root.iterdir()] == ["bank.sqlite"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_every_copy_hangs_together_while_somebody_writes(root, is_kept):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, root / "bank.sqlite"], stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        copied = 0
        with Copies(is_kept=is_kept) as copies:
            for _ in range(25):
                try:
                    with copies.open_copy(root, root / "bank.sqlite") as copy:
                        assert sum_amounts(copy) == 20_000
                        copied += 1
                except NotCopied:
                    continue
        assert copied
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_only_a_log_that_changed_is_copied_again(root):
    with closing(sqlite3.connect(root / "bank.sqlite")) as store, Copies(is_kept=True) as copies:
        store.execute("PRAGMA wal_autocheckpoint=0")
        sums = []
        for _ in range(3):
            store.execute("UPDATE accounts SET amount = amount + 1 WHERE id = 1")
            store.commit()
            with copies.open_copy(root, root / "bank.sqlite") as copy:
                sums.append(sum_amounts(copy))
                if len(sums) == 1:
                    first = (copy.path, copy.path.stat().st_ino, copy.path.stat().st_mtime_ns)
        assert sums == [20_001, 20_002, 20_003]
        assert (copy.path, copy.path.stat().st_ino, copy.path.stat().st_mtime_ns) == first
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with copies.open_copy(root, root / "bank.sqlite") as copy:
            assert sum_amounts(copy) == 20_003
            assert copy.path.stat().st_mtime_ns != first[2]


def test_a_journal_of_a_writer_at_work(root):
    with closing(sqlite3.connect(root / "bank.sqlite", isolation_level=None)) as store:
        store.execute("PRAGMA journal_mode=DELETE")
        store.execute("PRAGMA cache_size=1")
        store.execute("BEGIN IMMEDIATE")
        store.execute("UPDATE accounts SET notes = 'y' || notes")
        assert (root / "bank.sqlite-journal").stat().st_size
        with Copies() as copies, pytest.raises(NotCopied), copies.open_copy(root, root / "bank.sqlite"):
            pass
        store.execute("ROLLBACK")
        with Copies() as copies, copies.open_copy(root, root / "bank.sqlite") as copy:
            assert sum_amounts(copy) == 20_000


def test_no_room(root, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))
    with Copies() as copies, pytest.raises(NotCopied, match=r"1\.0 kB"), copies.open_copy(root, root / "bank.sqlite"):
        pass


def test_what_a_killed_process_left_is_removed(root, settings):
    folder = settings.HOME_DIR / "state" / "copies"
    for name in ("1-dead", "2-alive", "3-early"):
        (folder / name).mkdir(parents=True)
        (folder / name / "0-bank.sqlite").write_bytes(b"left")
    (folder / "1-dead" / "lock").touch()
    with (folder / "2-alive" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Copies() as copies, copies.open_copy(root, root / "bank.sqlite"):
            assert "2-alive" in os.listdir(folder)
            assert len(os.listdir(folder)) == 3  # the living process's folder, ours, and the lock
    assert sorted(os.listdir(folder)) == ["2-alive", "lock"]
    (folder / "4-dead").mkdir()
    with Copies():  # also when nothing is copied
        assert "4-dead" not in os.listdir(folder)
