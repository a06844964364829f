"""`doctor --fix --sources`: source files are removed only when the store has them."""

import fcntl
import io
import os
import signal
import tarfile
from pathlib import Path

import orjson
import pytest
import zstandard

from tests.homes import Home, user
from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import start
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import doctor, fill, read_tree, rows
from tests.sqlite_homes import SqliteHome
from tests.suite import fixture_cache

pytestmark = pytest.mark.kill
home = doctor_homes.home
YESTERDAY = 1_795_000_000


@pytest.fixture
def source(home):
    made = Home(Path(f"{home}-source"), agents=("main", "research"))
    fill(made)
    made.transcript(user("Damaged"), session="00000000-0000-4000-8000-00000000000d").raw("no record\n")
    made.transcript(user("Still written"), session="00000000-0000-4000-8000-00000000000e").raw('{"type":"mess')
    age_files(made.root)
    return made


def age_files(root):
    """Set the time of every file to yesterday, as if nobody had worked here since."""
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (YESTERDAY, YESTERDAY))


def read_archive(path):
    unpacked = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())
    with tarfile.open(fileobj=unpacked) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}


@pytest.mark.parametrize("mode", ["archive", "remove"])
def test_it_works(home, source, mode):
    before = {name: (source.root / name).read_bytes() for name, state in read_tree(source.root).items() if state[0]}
    fixed, status = doctor(home, "--fix", "--sources", mode)
    run = fixed["run"]
    remaining = {name for name, state in read_tree(source.root).items() if state[0]}
    gone = before.keys() - remaining
    assert gone == set(run["removed"]) and len(gone) == 6
    assert all(name.endswith((".jsonl", ".json")) for name in gone)
    assert not any(name.startswith(("workspace", "credentials", "openclaw.json")) for name in gone)
    stayed = {source_file["path"][-7:]: source_file["reason"] for source_file in run["stayed"]}
    assert set(stayed) == {"d.jsonl", "e.jsonl"} and all("Not every line" in reason for reason in stayed.values())
    archive = read_archive(Path(run["source_archive"]["path"]))
    assert archive == {name: before[name] for name in [*gone, *(source_file["path"] for source_file in run["stayed"])]}
    assert Path(run["source_archive"]["path"]).stat().st_mode & 0o777 == 0o600
    is_removed_by_path = dict(rows(home, "SELECT source_path, removed_source FROM migration_sources"))
    assert {name for name, is_gone in is_removed_by_path.items() if is_gone} == gone
    if mode == "archive":
        folder = Path(run["archive_folder"])
        assert folder.parent == home / "backups"
        assert {name: (folder / name).read_bytes() for name in gone} == {name: before[name] for name in gone}
    assert status == 0
    again, _status = doctor(home, "--fix", status=0)
    assert rows(home, "SELECT count(*) FROM transcript_events", "main") == [(30,)]
    assert again["to_read"] == 0


def test_what_was_collected_before_goes_as_well(home, source):
    doctor(home, "--fix", status=0)
    run = doctor(home, "--fix", "--sources", "remove", status=0)[0]["run"]
    assert len(run["removed"]) == 6 and run["sessions"] == {}


def test_nothing_goes_while_openclaw_seems_to_run(home, source):
    before = read_tree(source.root)
    lock = source.write("agents/main/sessions/x.jsonl.lock", {"pid": os.getpid(), "createdAt": "now"})
    age_files(source.root)
    refused, _status = doctor(home, "--fix", "--sources", "remove", status=2)
    assert "OpenClaw seems to be running" in refused["error"] and str(os.getpid()) in refused["error"]
    lock.write_text(orjson.dumps({"pid": 2**22 - 1}).decode())  # no such process
    age_files(source.root)
    next(source.root.glob("agents/main/sessions/*.jsonl")).touch()
    refused, _status = doctor(home, "--fix", "--sources", "remove", status=2)
    assert "written to in the last 5 minutes" in refused["error"]
    assert rows(home, "SELECT count(*) FROM migration_runs") == [(0,)]
    assert {name: state[0] for name, state in before.items()}.items() <= {
        name: state[0] for name, state in read_tree(source.root).items()
    }.items()
    fixed, _status = doctor(home, "--fix", "--sources", "remove", "--force", status=0)
    assert len(fixed["run"]["removed"]) == 6


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("tmp/openclaw-0/gateway.state.lock", {"role": "gateway"}),  # in the home since 2026.8
        ("openclaw-0/gateway.0a1b2c3d.lock", {"configPath": "{home}/openclaw.json"}),  # in /tmp in older versions
        ("state/gateway.lock", None),  # a lock that contains only a process id
    ],
)
def test_an_idle_gateway_is_seen_by_its_lock(home, source, tmp_path, place, content):
    before = read_contents(source.root)
    lock = (tmp_path if place.startswith("openclaw-0") else source.root) / place
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock_content = orjson.dumps((content or {}) | {"pid": os.getpid()}) if content else b"%d\n" % os.getpid()
    lock.write_bytes(lock_content.replace(b"{home}", str(source.root).encode()))
    os.utime(lock, (YESTERDAY, YESTERDAY))
    refused, _status = doctor(home, "--fix", "--sources", "remove", status=2, TMPDIR=str(tmp_path))
    assert f"process {os.getpid()} has locked" in refused["error"] and lock.name in refused["error"]
    assert before.items() <= read_contents(source.root).items()
    assert rows(home, "SELECT count(*) FROM migration_runs") == [(0,)]


def test_the_gateway_of_another_home_does_not_count(home, source, tmp_path):
    lock = tmp_path / "openclaw-0" / "gateway.0a1b2c3d.lock"
    lock.parent.mkdir()
    lock.write_bytes(orjson.dumps({"pid": os.getpid(), "configPath": f"{source.root}-2/openclaw.json"}))
    (lock.parent / "gateway.x.lock").write_bytes(orjson.dumps({"pid": os.getpid(), "configPath": "\u0000" * 9_000}))
    fixed, _status = doctor(home, "--fix", "--sources", "remove", status=0, TMPDIR=str(tmp_path))
    assert len(fixed["run"]["removed"]) == 6


def test_a_gateway_that_starts_meanwhile_keeps_its_files(home, source):
    """The gateway is looked for again right before files are removed.

    A backup and an import take their time, in which it may start.
    """
    before = read_contents(source.root)
    process = start(home, "doctor", "--fix", "--sources", "remove", "--json", "--quiet")
    while not list((home / "backups").glob("openclaw-sources-*.tar.zst")):
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGSTOP)
    (source.root / "gateway.lock").write_text(str(os.getpid()))
    process.send_signal(signal.SIGCONT)
    run = orjson.loads(process.communicate()[0])["run"]
    assert run["removed"] == [] and len(run["stayed"]) == 8
    assert all("OpenClaw was started in the meantime" in source_file["reason"] for source_file in run["stayed"])
    assert before.items() <= read_contents(source.root).items()


@pytest.mark.parametrize("how", ["gone", "a link", "a folder"])
def test_a_file_that_cannot_be_packed_stays_behind(home, source, tmp_path, how):
    """A planned file is gone or replaced when the archive of sources is written."""
    fixture_cache.copy_home(home)
    (home / "backups").mkdir(mode=0o700)
    file = next(source.root.glob("agents/research/sessions/*.jsonl"))
    process = start(home, "doctor", "--fix", "--sources", "remove", "--json", "--quiet")
    while not list((home / "backups").glob(".backup.*")):
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGSTOP)
    file.rename(tmp_path / "elsewhere")
    if how == "a link":
        file.symlink_to(tmp_path / "elsewhere")
    elif how == "a folder":
        file.mkdir()
    if how != "gone":  # a new time would look as if OpenClaw were at work
        os.utime(file, (YESTERDAY, YESTERDAY), follow_symlinks=False)
    process.send_signal(signal.SIGCONT)
    run = orjson.loads(process.communicate()[0])["run"]
    name = file.relative_to(source.root).as_posix()
    assert process.returncode == 1 and name in {source_file["path"] for source_file in run["warnings"]}
    assert name in {source_file["path"] for source_file in run["stayed"]} and len(run["removed"]) == 5
    source_rows = rows(
        home, "SELECT status, removed_source FROM migration_sources WHERE source_path = ?", values=(name,)
    )
    assert source_rows == [("warning", 0)] and (tmp_path / "elsewhere").is_file()


def read_contents(root):
    return {name: state[0] for name, state in read_tree(root).items() if state[0]}


def test_a_home_is_not_exchanged_under_a_doctor(home, source):
    backup = doctor(home, "--fix", status=0)[0]["run"]["backup"]["path"]
    with (home / "state" / "doctor.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, _out, err = backup_homes.run(home, "backup", "restore", backup, "--replace")
    assert status == 3 and "is in use (" in err and "doctor.lock" in err


def test_databases_stay(home):
    source = SqliteHome(Path(f"{home}-source"))
    source.session("00000000-0000-4000-8000-000000000001", user("One"))
    age_files(source.root)
    before = read_tree(source.root)
    run = doctor(home, "--fix", "--sources", "remove", status=0)[0]["run"]
    assert run["removed"] == [] and run["source_archive"] is None
    assert read_tree(source.root) == before


def test_a_link_is_no_source(home, source, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "00000000-0000-4000-8000-00000000000f.jsonl").write_text('{"type":"session","id":"f"}\n')
    (source.root / "agents" / "linked").mkdir()
    (source.root / "agents" / "linked" / "sessions").symlink_to(elsewhere)
    os.utime(elsewhere / "00000000-0000-4000-8000-00000000000f.jsonl", (YESTERDAY, YESTERDAY))
    doctor(home, "--fix", "--sources", "remove")
    assert list(elsewhere.iterdir())
