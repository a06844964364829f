"""Doctors that are killed at any moment or meet a full disk: nothing is lost or doubled, the next run finishes."""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.collecting.test_collect_kill import contents
from tests.homes import Home
from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import run, start
from tests.operations.backups.test_backup_kill import begun, span
from tests.operations.doctor.doctor_homes import doctor, picture, rows, talk
from tests.processes import FEW, MOST_TRIES, Killer, until_met
from tests.sqlite_homes import SqliteHome
from tests.suite import fixture_cache

pytestmark = pytest.mark.kill
YESTERDAY = 1_795_000_000


def filled(root, sessions=24, turns=12):
    """Files of one agent, a database of another."""
    source = SqliteHome(root, agents=("lab",))
    (root / "agents" / "main" / "sessions").mkdir(parents=True)
    for number in range(sessions):
        Home.transcript(source, *talk(number, turns), agent="main", session=str(uuid.UUID(int=100 + number)))
        source.session(str(uuid.UUID(int=500 + number)), *talk(number, turns), agent="lab")
    rest(root)
    return source


def rest(root):
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (YESTERDAY, YESTERDAY))


def test_kills_lose_nothing_and_double_nothing(tmp_path):
    source, home = filled(tmp_path / "killed-source"), tmp_path / "killed"
    fixture_cache.copy_home(home)
    (home / "backups").mkdir(mode=0o700)
    files: dict[Path, bytes] = {}
    remember(source, files)
    shutil.copytree(home, tmp_path / "clean")
    assert run(home, "doctor", "--fix", "--quiet")[0] == 0
    more(source, MOST_TRIES)
    remember(source, files)
    killer = Killer(11, span(start(home, "doctor", "--fix", "--quiet"), home / "backups", ".backup.*") * 0.9)
    broken = []
    for number in until_met(killer, kills=FEW, and_until=lambda: broken):
        more(source, number)
        remember(source, files)
        words = ("--sources", "archive") if number % 2 else ()
        process = start(home, "doctor", "--fix", "--quiet", *words)
        begun(process, home / "backups", ".backup.*")
        killer.kill(process)
        broken.extend(rows(home, "SELECT id FROM migration_runs WHERE status = 'running'"))
        for agent in (None, *(file.parts[-3] for file in home.glob("agents/*/agent/openclaw-agent.sqlite"))):
            assert rows(home, "PRAGMA integrity_check", agent) == [("ok",)]
        for name, content in files.items():  # what is not in its place is in the backup folder, whole
            places = [source.root / name, *(home / "backups").glob(f"openclaw-sources-*/{name}")]
            assert any(place.is_file() and place.read_bytes() == content for place in places), name
    assert broken
    doctor(home, "--fix", "--sources", "archive", status=0)
    assert not list(source.root.glob("agents/main/sessions/*.jsonl"))
    told = rows(home, "SELECT source_path FROM migration_sources WHERE removed_source")
    assert {path for (path,) in told} == {name.as_posix() for name in files}
    for name, content in files.items():
        (source.root / name).write_bytes(content)
    clean = tmp_path / "clean"
    assert run(clean, "collect", "--source", str(source.root))[0] == 0
    assert contents(home) == contents(clean) != {}
    assert rows(home, "SELECT count(*) FROM migration_runs WHERE status = 'running'") == [(0,)]
    assert not list((home / "state" / "copies").glob("*/")) and not list((home / "backups").glob(".*"))


def more(source, number):
    """Something new for the next run."""
    for place in range(4):
        name = str(uuid.UUID(int=10_000 + 10 * number + place))
        Home.transcript(source, *talk(number, 12), agent="main", session=name)
    source.session(str(uuid.UUID(int=50_000 + number)), *talk(number, 12), agent="lab")
    rest(source.root)


def remember(source, files):
    for path in source.root.rglob("sessions/*.jsonl"):
        files[path.relative_to(source.root)] = path.read_bytes()


def test_a_full_disk(tmp_path):
    """A home on a file system of a few megabytes, in a mount namespace of its own."""
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    source, home = filled(tmp_path / "home-source", sessions=60, turns=30), tmp_path / "home"
    before, small = picture(source.root), tmp_path / "small"
    assert run(home, "migrate", "-v0")[0] == 0
    small.mkdir()
    seen = set()
    for size in ("1600k", "3m", "5m", "8m"):
        script = (
            f"mount -t tmpfs -o size={size} tmpfs {small} && cp -r {home}/. {small}/ && "
            f'{{ "$@"; status=$?; rm -rf {tmp_path}/after; cp -r {small} {tmp_path}/after; exit $status; }}'
        )
        words = [backup_homes.sys.executable, "-m", "openclaw_web", "doctor", "--fix", "--quiet"]
        done = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script, "sh", *words],
            cwd=backup_homes.ROOT,
            env=backup_homes.environment(small, OPENCLAW_STATE_DIR=str(source.root)),
            capture_output=True,
            text=True,
            check=False,
        )
        seen.add(done.returncode)
        assert "Traceback" not in done.stderr and done.stderr.strip(), (size, done.stderr)
        after = tmp_path / "after"
        assert rows(after, "PRAGMA integrity_check") == [("ok",)]
        for agent in after.glob("agents/*/agent/openclaw-agent.sqlite"):
            assert rows(after, "PRAGMA integrity_check", agent.parts[-3]) == [("ok",)]
        # With room again, the next run finishes what this one began.
        environment = {"OPENCLAW_STATE_DIR": str(source.root)}
        fixed, status = doctor(after, "--fix", **environment)
        assert status == 0, fixed
        counts = [rows(after, "SELECT count(*) FROM transcript_events", agent)[0][0] for agent in ("main", "lab")]
        assert counts == [60 * (1 + 30 * 4)] * 2
    assert seen - {0}, "no disk was full"
    assert picture(source.root) == before
