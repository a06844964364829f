"""`collect --again` replaces a damaged database of an agent; the damaged one is kept."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, nullcontext

import pytest
from django.db import connections

from agents import databases
from artifacts.store import garbage
from ledger.models import RemovedSession
from openclaw_web.errors import Refused
from openclaw_web.sqlite import damaged_files
from tests.collecting.collect_runs import MAIN, count_events, dump_tables, run, write_conversation
from tests.collecting.test_collect_kill import read_rows, start_command
from tests.homes import Home, user
from tests.operations.backups.backup_homes import ROOT, build_environment
from tests.operations.backups.backup_homes import run as run_command
from tests.suite import fixture_cache

pytestmark = pytest.mark.django_db
KEPT = "openclaw-agent.damaged-*"
# Runs a command, and kills it before the step of this number that opens, names or removes an agent's file.
KILLED_AT_STEP = """
import os, runpy, signal, sys
left = [int(sys.argv.pop(1))]
def count(event, args):
    if event in ("os.rename", "os.link", "os.remove", "sqlite3.connect") and "/agents/main/agent/" in str(args[0]):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
runpy.run_module("openclaw_web", run_name="__main__", alter_sys=True)
"""


def close():
    """Close the database, with everything in its file."""
    with connections[MAIN].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connections[MAIN].close()


def damage(file, how):
    data = bytearray(file.read_bytes())
    start, size = {"beginning": (0, 50), "pages": (len(data) // 3, 40_000), "blank": (0, 0)}[how]
    data[start : start + size] = os.urandom(size)
    file.write_bytes(b"" if how == "blank" else data)


def find_kept(file):
    return sorted(file.parent.glob(KEPT))


@pytest.fixture
def filled(home):
    """A home whose agent was imported, and its rows."""
    write_conversation(home)
    run(home)
    rows = dump_tables()
    close()
    return home, rows


@pytest.mark.parametrize("how", ["beginning", "pages", "blank"])
def test_a_damaged_file_is_kept_and_filled_again(filled, how):
    (home, rows), file = filled, databases.get_path("main")
    damage(file, how)
    content = file.read_bytes()
    report = run(home, again=True, agent="main")
    assert report["lost"] == {} and dump_tables() == rows
    [old_file] = [path for path in find_kept(file) if path.suffix == ".sqlite"]
    assert how == "blank" or old_file.read_bytes() == content
    assert [note for note in report["notes"] if str(old_file) in note]
    refusal = pytest.raises(Refused, match=f"Nothing was removed: {old_file} is damaged")
    with nullcontext() if how == "blank" else refusal:
        garbage.collect(garbage.GarbageResult(is_dry_run=False))
    assert run(home, again=True)["notes"] == [] and dump_tables() == rows
    assert [path for path in find_kept(file) if path.suffix == ".sqlite"] == [old_file]


def test_its_log_is_moved_with_it(filled):
    """SQLite would take a log that stayed for that of the new file."""
    (home, rows), file = filled, databases.get_path("main")
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("UPDATE sessions SET title = 'of the log'")
        writer.commit()
        log = file.with_name(f"{file.name}-wal").read_bytes()
        beside = [shutil.copy(f"{file}{ending}", f"{file}.copy{ending}") for ending in ("", "-wal")]
    for path, ending in zip(beside, ("", "-wal"), strict=True):
        os.replace(path, f"{file}{ending}")
    assert len(log) > 4096
    damage(file, "beginning")
    run(home, again=True)
    assert dump_tables() == rows
    [old_log] = file.parent.glob(f"{KEPT}.sqlite-wal")
    assert old_log.read_bytes() == log


def test_a_log_whose_file_was_removed_by_hand_is_not_read(filled):
    (home, rows), file = filled, databases.get_path("main")
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("UPDATE sessions SET title = 'of the log'")
        writer.commit()
        log = shutil.copy(f"{file}-wal", f"{file}.log")
    for path in (file, *file.parent.glob(f"{file.name}-*")):
        path.unlink()
    os.replace(log, f"{file}-wal")
    run(home, again=True)
    assert dump_tables() == rows
    assert len(list(file.parent.glob(f"{KEPT}.sqlite-wal"))) == 1


@pytest.mark.parametrize("moment", ["renamed", "log moved", "new file"])
def test_an_exchange_that_was_killed_is_finished(filled, moment):
    """A kill at each step leaves a state from which the next import continues."""
    (home, _rows), file = filled, databases.get_path("main")
    script = write_conversation(home)
    run(home)
    close()
    session = script.session
    RemovedSession.objects.using(MAIN).create(session_id=session, removed_at=0, why="age", last_activity_at=0)
    connections[MAIN].close()
    file.with_name(f"{file.name}-wal").write_bytes(b"log")
    part = file.with_name("openclaw-agent.damaged-01M8EQ0031F6F6E7BXW9EP5RWC.sqlite.part")
    damage(file, "beginning")
    content = file.read_bytes()
    file.rename(part)
    if moment != "renamed":
        file.with_name(f"{file.name}-wal").rename(part.with_name(f"{part.stem}-wal"))
    if moment == "new file":
        databases.create("main")
        connections[MAIN].close()
    else:
        with pytest.raises(Refused, match="is missing"):
            run(home)
    report = run(home, again=True)
    assert report["lost"] == {} and count_events() == 36
    assert part.with_suffix("").read_bytes() == content
    assert part.with_name(f"{part.stem}-wal").read_bytes() == b"log"
    assert not list(file.parent.glob("*.part")) and "is kept in" in " ".join(report["notes"])


def test_of_several_processes_one_moves_a_file(filled):
    file = databases.get_path("main")
    damage(file, "beginning")
    threads = [threading.Thread(target=damaged_files.move_aside, args=(file,)) for _number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(list(file.parent.glob(f"{KEPT}.sqlite.part"))) == 1 and not file.exists()


@pytest.mark.parametrize("state", ["busy", "outdated"])
def test_a_sound_file_stays(filled, state):
    (home, _rows), file = filled, databases.get_path("main")
    inode = file.stat().st_ino
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        if state == "outdated":
            db.execute("DELETE FROM django_migrations WHERE app = 'gate'")
            databases.remove_alias(MAIN)
            with pytest.raises(Refused) as refused:
                run(home, again=True)
            assert "not up to date" in refused.value.sentence and "Restore" not in refused.value.sentence
        else:
            db.execute("BEGIN EXCLUSIVE")
            assert not databases.is_damaged("main")
            databases.move_damaged_aside("main")
    assert file.stat().st_ino == inode and find_kept(file) == []


@pytest.mark.nightly
@pytest.mark.kill
def test_a_kill_at_any_moment_loses_nothing(tmp_path):
    """Killed before each step that opens, names or removes the database."""
    home = Home(tmp_path / "openclaw")
    home.transcript(*[user(f"Question {number}") for number in range(50)])
    fixture_cache.copy_home(tmp_path / "clean")
    words = ("collect", "--source", str(home.root), "--quiet")
    assert start_command(tmp_path / "clean", *words).wait() == 0
    expected = read_rows(tmp_path / "clean")
    environment = build_environment(tmp_path) | {"PYTHONPATH": str(ROOT)}
    killed = 0
    for number in range(1, 60):
        copy = shutil.copytree(tmp_path / "clean", tmp_path / f"home{number}")
        file = copy / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        damage(file, "beginning")
        content = file.read_bytes()
        command = [sys.executable, "-c", KILLED_AT_STEP, str(number), *words, "--again"]
        ended = subprocess.run(command, env=environment | {"OPENCLAW_WEB_HOME": str(copy)}, capture_output=True)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        killed += 1
        for _again in range(2):
            assert run_command(copy, *words, "--again")[0] == 0
        assert read_rows(copy) == expected
        assert [path.read_bytes() for path in file.parent.glob(f"{KEPT}.sqlite")] == [content]
    assert 5 < killed < 58
