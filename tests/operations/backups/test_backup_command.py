"""`openclaw-web backup`: created during writes, verified, restored and compared with its source."""

import os
import shutil
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import find_archives, read_tables, run, run_backup, start
from tests.operations.backups.test_backup_hostile import Parts
from tests.processes import Home, is_locked, wait_for

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("filled") / "home"
    backup_homes.fill(home)
    return home


@pytest.fixture
def home(filled, tmp_path):
    shutil.copytree(f"{filled}-source", tmp_path / "home-source")
    return Path(shutil.copytree(filled, tmp_path / "home"))


@pytest.fixture
def archive(home):
    return Path(run_backup(home, "create")["backup"]["path"])


def test_it_works(home, tmp_path):
    made = run_backup(home, "create", "--with-exports")
    path = Path(made["backup"]["path"])
    assert (made["schema"], made["verb"], made["backup"]["status"]) == ("openclaw-web.backup.v1", "create", "verified")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.parent == home / "backups"
    status, out, _err = run(tmp_path / "new", "backup", "restore", str(path))
    assert status == 0 and "2 agents, 1 user" in out and "sign in again" in out
    assert read_tables(tmp_path / "new") == read_tables(home)
    assert backup_homes.read_schema(tmp_path / "new") == backup_homes.read_schema(home)
    assert backup_homes.hash_artifacts(tmp_path / "new") == backup_homes.hash_artifacts(home) != {}
    assert list((tmp_path / "new" / "exports").glob("*/manifest.json"))
    assert backup_homes.are_artifacts_sound(tmp_path / "new")
    assert not list(tmp_path.glob(".new*")) and not list(tmp_path.glob("new.before*"))


def test_it_has_the_seals_of_releases(home, archive, tmp_path):
    with closing(sqlite3.connect(home / "state/openclaw.sqlite")) as db:
        seals = dict(db.execute("SELECT version_id, sha256 FROM release_seals"))
    parts = Parts(archive.read_bytes(), tmp_path)
    assert parts.manifest["releases"] == seals and list(seals) == ["v"]
    parts.manifest["releases"]["v"] = "beef"
    parts.write()
    status, _out, error = run(tmp_path / "new", "backup", "restore", str(parts.path))
    assert status == 3 and "The seals of releases differ from the manifest." in error


def test_what_never_gets_into_one(home, archive, tmp_path):
    members = subprocess.run(
        ["tar", "--zstd", "-tf", archive], check=True, capture_output=True, text=True
    ).stdout.split()
    assert members[:1] == ["state/openclaw.sqlite"] and members[-2:] == ["files.jsonl", "manifest.json"]
    assert not [name for name in members if name.endswith(("-wal", "-shm", ".key", ".lock")) or "search.sqlite" in name]
    assert not [name for name in members if name.startswith(("exports", "backups", "static"))]
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tmp_path], check=True)
    everything = b"".join(file.read_bytes() for file in (tmp_path / "state").iterdir())
    assert (home / "secret.key").read_bytes() not in everything


def test_nobody_stays_signed_in(home, tmp_path):
    link = run(home, "sign_in_link", "mei")[1].strip().rpartition("/welcome/")[2]
    assert link
    python = "from django.contrib.sessions.models import Session as S; from people.models import *\n"
    python += "from openclaw_web.clock import now_ms; from datetime import datetime, UTC\n"
    python += "S.objects.create(session_key='k' * 32, session_data='x', expire_date=datetime(2099, 1, 1, tzinfo=UTC))\n"
    python += "SignIn.objects.create(id='1', user=User.objects.get(), session_key='k' * 32, how='link',"
    python += " created_at=now_ms(), last_seen_at=now_ms(), expires_at=now_ms() + 10**9)\n"
    backup_homes.run_python(home, python)
    archive = run_backup(home, "create")["backup"]["path"]
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tmp_path], check=True)
    assert b"k" * 32 not in (tmp_path / "state" / "openclaw.sqlite").read_bytes()
    run_backup(tmp_path / "new", "restore", archive)
    with closing(sqlite3.connect(tmp_path / "new" / "state" / "openclaw.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM django_session").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM one_time_links").fetchone() == (0,)
        assert db.execute("SELECT session_key, ended_because FROM sign_ins").fetchall() == [(None, "ended")]
        (password,) = db.execute("SELECT password FROM users").fetchone()
    assert password
    assert (tmp_path / "new" / "secret.key").read_text() != (home / "secret.key").read_text()


def test_a_home_in_use_is_not_touched(home, archive):
    site = Home(home)
    server = site.serve("--no-watch")
    server.address()
    status, _out, err = run(home, "backup", "restore", str(archive), "--replace")
    assert status == 3 and "is in use (" in err and "serve.lock" in err
    site.close()
    worker = Home(home)
    worker.start("work")
    wait_for(lambda: is_locked(home / "state" / "work.lock"))  # without the lock a restore is not refused
    status, _out, err = run(home, "backup", "restore", str(archive), "--replace")
    assert status == 3 and "work.lock" in err
    worker.close()


def test_an_old_home_is_only_replaced_when_asked_and_kept(home, archive):
    before = read_tables(home)
    key = (home / "secret.key").read_text()
    status, _out, err = run(home, "backup", "restore", str(archive))
    assert status == 3 and "--replace" in err
    run(home, "create_user", "lena")
    done = run_backup(home, "restore", str(archive), "--replace")
    assert read_tables(home) == before
    assert (home / "secret.key").read_text() != key
    old_home = Path(done["kept"])
    assert read_tables(old_home) != before and (old_home / "secret.key").read_text() == key
    # The archive was in the old home; it is in both now, and the restored home knows it.
    listed = run_backup(home, "list")["backups"]
    assert [(row["path"], row["status"]) for row in listed] == [(str(archive), "verified")]
    assert run_backup(home, "verify")["backup"]["status"] == "verified"


def test_what_was_under_way_has_ended(home, tmp_path):
    backup_homes.run_python(
        home, "from jobs import services as jobs; jobs.start('export', {'export_id': 'x'}, by='mei')"
    )
    archive = run_backup(home, "create")["backup"]["path"]
    run_backup(tmp_path / "new", "restore", archive)
    outcomes = {
        row["kind"]: (row["state"], row["message"])
        for row in orjson.loads(run(tmp_path / "new", "jobs", "--json")[1])["jobs"]
    }
    assert outcomes["export"][0] == outcomes["backup"][0] == "failed"
    assert "restored from a backup" in outcomes["export"][1]


def test_list_verify_and_drill(home, archive, tmp_path):
    assert run_backup(home, "verify", str(archive))["backup"]["verified_at"]
    drilled = run_backup(home, "drill")
    assert drilled["backup"]["proven_at"] and drilled["backup"]["proven_ms"] > 0
    status, out, _err = run(home, "backup", "list")
    assert status == 0 and str(archive) in out and "verified" in out
    moved = archive.rename(tmp_path / archive.name)
    assert run_backup(home, "list")["backups"] == []
    assert run_backup(home, "verify", str(moved))["backup"]["path"] == str(moved)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_keep_removes_the_oldest_and_never_the_proven_one(home, archive):
    run_backup(home, "drill", str(archive))
    second = run_backup(home, "create")["backup"]["path"]
    done = run_backup(home, "create", "--keep", "1")
    assert done["removed"] == [second]
    assert find_archives(home) == sorted([archive, Path(done["backup"]["path"])])


def test_keep_leaves_other_folders_alone(home, archive, tmp_path):
    """A restored home knows backups of its original, but may not remove them."""
    run_backup(tmp_path / "new", "restore", str(archive))
    other = tmp_path / "other"
    first, second = (run_backup(tmp_path / "new", "create", "--to", str(other))["backup"]["path"] for _ in range(2))
    done = run_backup(tmp_path / "new", "create", "--to", str(other), "--keep", "1")
    assert sorted(done["removed"]) == sorted([first, second])
    assert archive.is_file()


def test_a_home_that_was_only_looked_at_is_blank(archive, tmp_path):
    new = tmp_path / "new"
    assert run(new, "backup", "list")[0] == 0 and run(new, "doctor")[0] in (0, 1, 2)
    for verb in ("verify", "drill"):
        assert run(new, "backup", verb, str(archive))[0] == 0
    assert run(new, "backup", "restore", "--quiet", str(archive))[0] == 0  # the option may stand before the file
    used = tmp_path / "used"
    run(used, "create_user", "lena")
    status, _out, err = run(used, "backup", "restore", str(archive))
    assert status == 3 and "is not empty. With --replace" in err


def test_wrong_use(home, archive, tmp_path):
    def foreign(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    for words, sentence in (
        (("create", "--replace"), "create has no --replace"),
        (("list", "latest"), "list has no latest"),
        (("create", "--keep", "0"), "--keep must be 1 or more"),
        (("restore",), "Name the backup to restore"),
        (("burn",), "invalid choice"),
    ):
        status, _out, err = run(home, "backup", *words)
        assert status == 2 and sentence in err, words
    for words, sentence in (
        (("verify", "nothing"), "There is no such backup here"),
        (("verify", str(home)), "is not a file"),
        (("verify", str(foreign("empty", b""))), "empty is not a backup of OpenClaw Web: it is empty."),
        (("verify", str(foreign("notes.txt", b"my notes"))), "by its content it is text/plain."),
        (("verify", str(foreign("a.zip", b"PK\x03\x04" + bytes(40)))), "by its content it is application/zip."),
        (("drill", str(foreign("a.db", b"SQLite format 3\0" + bytes(99)))), "it is application/vnd.sqlite3."),
        (
            ("verify", str(foreign("cut.tar.zst", archive.read_bytes()[:-30]))),
            "its end is missing, or it is of",
        ),
        (("restore", str(foreign("x.json", b'{"a": 1}')), "--replace"), "by its content it is application/json."),
        (("create", "--to", "/dev/null/x"), "cannot be written to"),
        (("restore", "/nowhere.tar.zst", "--replace"), "cannot be opened"),
        (("restore", str(home), "--replace"), "is not a file"),
    ):
        status, _out, err = run(home, "backup", *words)
        assert status == 3 and sentence in err and "Traceback" not in err, (words, err)
    assert read_tables(home)


def test_a_backup_while_others_write(tmp_path):
    """A backup stays consistent while a collect, an artifact writer and a garbage collector run."""
    home = tmp_path / "own"
    source = backup_homes.fill(home)
    for number in range(12):
        script = source.transcript(agent=("main", "research")[number % 2])
        script.add(*[backup_homes.homes.user(f"More {number} {turn} " + "y" * 300) for turn in range(300)])
    collecting = start(home, "collect")
    stashing = start(
        home,
        "shell",
        "--no-imports",
        "-c",
        "from agents import databases\ndatabases.get_alias('main')\n" + backup_homes.ARTIFACTS.format(count=3000),
    )
    made = [Path(run_backup(home, "create")["backup"]["path"])]
    while collecting.poll() is None or stashing.poll() is None:
        clearing = start(home, "shell", "--no-imports", "-c", backup_homes.CLEAR)
        made.append(Path(run_backup(home, "create")["backup"]["path"]))
        assert clearing.communicate() and clearing.returncode == 0
    for process in (collecting, stashing):
        process.communicate()
        assert process.returncode == 0
    for number, archive in enumerate(made):
        restored = tmp_path / f"restored-{number}"
        run_backup(restored, "restore", str(archive))
        assert backup_homes.are_artifacts_sound(restored)
        assert run(restored, "collect", OPENCLAW_STATE_DIR=f"{home}-source")[0] == 0
        restored_rows, rows = read_tables(restored), read_tables(home)
        file = "agents/main/agent/openclaw-agent.sqlite"
        assert len(restored_rows[file, "transcript_events"]) == len(rows[file, "transcript_events"])


def test_a_full_disk(home, archive, tmp_path):
    """A backup on a real file system of few megabytes, mounted in its own namespace."""
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    small, rows = tmp_path / "small", read_tables(home)
    small.mkdir()

    def on_small(size, *words, home=home):
        mounted = f'mount -t tmpfs -o size={size} tmpfs {small} && {{ "$@"; status=$?; ls -A {small}; exit $status; }}'
        command = ["unshare", "-Urm", "sh", "-c", mounted, "sh", *words]
        return subprocess.run(
            command, cwd=backup_homes.ROOT, env=backup_homes.build_environment(home), capture_output=True, text=True
        )

    python = backup_homes.sys.executable
    for size in ("64k", "500k"):
        done = on_small(size, python, "-m", "openclaw_web", "backup", "create", "--to", str(small), "--quiet")
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
        assert "Not enough space" in done.stderr and "Traceback" not in done.stderr, done.stderr
    unlooked = "from openclaw_web.disk import room; room.check = lambda *_: None\n"
    create = (
        f"from django.core.management import call_command; call_command('backup', 'create', to='{small}', quiet=True)"
    )
    seen = set()
    for size in (300, 700, 1500, 2500, 3000):
        done = on_small(f"{size}k", python, "manage.py", "shell", "--no-imports", "-c", unlooked + create)
        if done.returncode:
            assert "No space left" in done.stderr, done.stderr
            assert done.stdout == ""
        seen.add(done.returncode)
    assert seen - {0}
    restore = (
        f"from django.core.management import call_command; call_command('backup', 'restore', '{archive}', quiet=True)"
    )
    for size in (300, 800, 1500):
        code = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'openclaw_web.settings'; django.setup()\n"
        done = on_small(f"{size}k", python, "-c", code + unlooked + restore, home=small / "new")
        assert done.returncode and "No space left" in done.stderr and "home is unchanged" in done.stderr
        assert done.stdout.split() == ["new"]
    assert read_tables(home) == rows and os.listdir(home / "backups") == [archive.name]
