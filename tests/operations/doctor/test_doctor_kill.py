"""Doctors that are killed or meet a full disk lose and double nothing.

The next run finishes their work.
"""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.collecting.test_collect_kill import read_rows
from tests.homes import Home
from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import run, start
from tests.operations.backups.test_backup_kill import measure_work, wait_for_draft
from tests.operations.doctor.doctor_homes import doctor, read_tree, rows, talk
from tests.processes import FEW, MOST_TRIES, Killer, until_met, wait_for
from tests.sqlite_homes import SqliteHome
from tests.suite import fixture_cache

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
YESTERDAY = 1_795_000_000


def create_source(root, sessions=24, turns=12):
    """Write files of one agent and a database of another."""
    source = SqliteHome(root, agents=("lab",))
    (root / "agents" / "main" / "sessions").mkdir(parents=True)
    for number in range(sessions):
        Home.transcript(source, *talk(number, turns), agent="main", session=str(uuid.UUID(int=100 + number)))
        source.session(str(uuid.UUID(int=500 + number)), *talk(number, turns), agent="lab")
    age_files(root)
    return source


def age_files(root):
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (YESTERDAY, YESTERDAY))


def test_kills_lose_nothing_and_double_nothing(tmp_path):
    source, home = create_source(tmp_path / "killed-source"), tmp_path / "killed"
    fixture_cache.copy_home(home)
    (home / "backups").mkdir(mode=0o700)
    files: dict[Path, bytes] = {}
    note_contents(source, files)
    shutil.copytree(home, tmp_path / "clean")
    assert run(home, "doctor", "--fix", "--quiet")[0] == 0
    write_more(source, MOST_TRIES)
    note_contents(source, files)
    killer = Killer(11, measure_work(start(home, "doctor", "--fix", "--quiet"), home / "backups", ".backup.*") * 0.9)
    broken = []
    for number in until_met(killer, kills=FEW, and_until=lambda: broken):
        write_more(source, number)
        note_contents(source, files)
        words = ("--sources", "archive") if number % 2 else ()
        process = start(home, "doctor", "--fix", "--quiet", *words)
        wait_for_draft(process, home / "backups", ".backup.*")
        killer.kill(process)
        broken.extend(rows(home, "SELECT id FROM migration_runs WHERE status = 'running'"))
        for agent in (None, *(file.parts[-3] for file in home.glob("agents/*/agent/openclaw-agent.sqlite"))):
            assert rows(home, "PRAGMA integrity_check", agent) == [("ok",)]
        for name, content in files.items():  # a file that was moved is in the backup folder, complete
            places = [source.root / name, *(home / "backups").glob(f"openclaw-sources-*/{name}")]
            assert any(place.is_file() and place.read_bytes() == content for place in places), name
    assert broken
    doctor(home, "--fix", "--sources", "archive", status=0)
    assert not list(source.root.glob("agents/main/sessions/*.jsonl"))
    removed = rows(home, "SELECT source_path FROM migration_sources WHERE removed_source")
    assert {path for (path,) in removed} == {name.as_posix() for name in files}
    for name, content in files.items():
        (source.root / name).write_bytes(content)
    clean = tmp_path / "clean"
    assert run(clean, "collect", "--source", str(source.root))[0] == 0
    assert read_rows(home) == read_rows(clean) != {}
    assert rows(home, "SELECT count(*) FROM migration_runs WHERE status = 'running'") == [(0,)]
    assert not list((home / "state" / "copies").glob("*/")) and not list((home / "backups").glob(".*"))


def test_a_killed_comparison_leaves_no_words_beside_the_store(tmp_path):
    """Nobody else can read them meanwhile, and the next process removes them."""
    create_source(tmp_path / "home-source", sessions=40)
    home = tmp_path / "home"
    assert run(home, "collect", "--quiet")[0] == 0
    before, copies = read_rows(home), home / "state" / "copies"
    process = start(home, "doctor", "--deep", "--quiet")
    wait_for(lambda: [*copies.glob("*/compared-*.sqlite")])
    folder = next(copies.glob("*/compared-*.sqlite")).parent
    modes = [path.stat().st_mode & 0o777 for path in (folder, *folder.glob("*.sqlite*"))]
    process.kill()
    process.communicate()
    assert modes[0] == 0o700 and set(modes[1:]) == {0o600}
    assert folder.exists()
    assert doctor(home, "--deep", status=0)[0]["rows"] == [] and read_rows(home) == before
    assert not [*copies.glob("*/")]


def write_more(source, number):
    """Write new sessions for the next run."""
    for place in range(4):
        name = str(uuid.UUID(int=10_000 + 10 * number + place))
        Home.transcript(source, *talk(number, 12), agent="main", session=name)
    source.session(str(uuid.UUID(int=50_000 + number)), *talk(number, 12), agent="lab")
    age_files(source.root)


def note_contents(source, files):
    for path in source.root.rglob("sessions/*.jsonl"):
        files[path.relative_to(source.root)] = path.read_bytes()


def test_a_full_disk(tmp_path):
    """A doctor on a real file system of a few megabytes, mounted in its own namespace."""
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    source, home = create_source(tmp_path / "home-source", sessions=60, turns=30), tmp_path / "home"
    before, small = read_tree(source.root), tmp_path / "small"
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
            env=backup_homes.build_environment(small, OPENCLAW_STATE_DIR=str(source.root)),
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
        # With free space again, the next run finishes this one's work.
        environment = {"OPENCLAW_STATE_DIR": str(source.root)}
        fixed, status = doctor(after, "--fix", **environment)
        assert status == 0, fixed
        counts = [rows(after, "SELECT count(*) FROM transcript_events", agent)[0][0] for agent in ("main", "lab")]
        assert counts == [60 * (1 + 30 * 4)] * 2
    assert seen - {0}, "no disk was full"
    assert read_tree(source.root) == before
