"""A next version updates a home after a verified backup, and this version refuses the result.

The next version is a copy of the packages with further migrations (`next_version.py`), started as a real process.
"""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from openclaw_web.disk import mounts
from tests.installation import next_version, upgraded_homes
from tests.installation.upgraded_homes import AGENT, BACKUPS, GLOBAL, run, serve
from tests.processes import FEW, Killer, until_met, wait_for
from tests.suite.nightly import first
from tests.suite.sources import ROOT

pytestmark = pytest.mark.kill

UPDATING = "Updating the databases in {home} for version 0.3.0. A backup is created first.\n"
WITHOUT = (
    "No database was updated. Solve this and start again, or update the databases without a backup: "
    "openclaw-web serve --no-backup\n"
)
WITHOUT_AGENT = (
    "No database was updated. Restore a backup: openclaw-web backup restore FILE --replace. Or continue without a "
    "backup: copy {home} to another folder, run openclaw-web serve --no-backup, and then import the agent again: "
    "openclaw-web collect --again --agent main\n"
)
OUTDATED = "The databases are not up to date. Run openclaw-web serve, which creates a backup and updates them.\n"
KEPT = re.compile(r"/openclaw-agent\.damaged-\w{26}\.sqlite$")
# Root without its privileges: permissions count for it as for every user.
AS_ANYBODY = ("setpriv", "--bounding-set=-all") if os.geteuid() == 0 else ()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The next version."""
    return next_version.make_next_version(tmp_path_factory.mktemp("next"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home that this version filled, and that nothing uses."""
    home = tmp_path_factory.mktemp("filled") / "home"
    upgraded_homes.fill(ROOT, home)
    return home


@pytest.fixture
def home(filled, tmp_path):
    return shutil.copytree(filled, tmp_path / "home")


def check_refusal(home, before, status, output, reason):
    """A start was refused with the way out, and the home is unchanged."""
    assert (status, output) == (3, UPDATING.format(home=home) + f"{reason} {WITHOUT}")
    assert upgraded_homes.list_files(home) == before


def check_updated(home, tables):
    """Both databases have the new tables and columns, and every row of before."""
    assert upgraded_homes.find_losses(tables, upgraded_homes.read_tables(home)) == []
    for file in (GLOBAL, AGENT):
        names = {name[:11] for name in upgraded_homes.read_migrations(home / file) if name.startswith("ledger.")}
        assert names == {f"ledger.000{number}" for number in range(1, 10)}
    assert not (home / "state" / "upgrade-backup.json").exists()


def test_an_update_keeps_the_data_and_creates_a_backup_before(program, home, tmp_path):
    tables = upgraded_homes.read_tables(home)
    assert len(tables) > 40
    status, output = serve(program, home)
    [backup] = home.glob(BACKUPS)
    first, second, third = output.splitlines()
    assert (status, f"{first}\n") == (0, UPDATING.format(home=home))
    assert second.startswith(f"Backup: {backup}, ") and second.endswith(" kB, opened and verified.")
    assert upgraded_homes.RUNNING.search(third)
    check_updated(home, tables)
    assert upgraded_homes.read_backup_rows(home) == [("verified", str(backup), "upgrade")]
    assert run(program, home, "backup", "verify", str(backup))[0] == 0
    restored = tmp_path / "restored"
    assert run(ROOT, restored, "backup", "restore", str(backup))[0] == 0
    assert upgraded_homes.find_losses(tables, upgraded_homes.read_tables(restored)) == []
    assert len(serve(program, home)[1].splitlines()) == 1  # the next start has nothing to do
    assert [*home.glob(BACKUPS)] == [backup]


@pytest.mark.nightly
def test_a_current_home_and_a_blank_one_need_no_backup(home, program, tmp_path):
    for version, place in ((ROOT, home), (program, tmp_path / "blank")):
        status, output = serve(version, place)
        assert (status, "backup" in output.lower(), [*place.glob(BACKUPS)]) == (0, False, [])


@pytest.mark.nightly
def test_a_backup_goes_to_the_folder_of_the_setting(program, home, tmp_path):
    assert run(ROOT, home, "settings", "set", "backup.folder", str(tmp_path / "elsewhere"))[0] == 0
    assert serve(program, home)[0] == 0
    [backup] = (tmp_path / "elsewhere").iterdir()
    assert upgraded_homes.read_backup_rows(home) == [("verified", str(backup), "upgrade")]
    assert not (home / "backups").exists()


@pytest.mark.nightly
def test_a_backup_in_memory_is_named_as_such(program, home):
    place = Path("/dev/shm") / f"openclaw-web-{os.getpid()}"
    file_system = mounts.find_file_system(place.parent) if place.parent.is_dir() else None
    if not file_system or not file_system.is_in_memory:
        pytest.skip("/dev/shm is not in memory here")
    try:
        run(ROOT, home, "settings", "set", "backup.folder", str(place))
        status, output = serve(program, home)
        assert status == 0 and "is lost when the machine restarts" in output
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize("change", first([{"files": None}, {"path": 5}, {"bytes": "many"}, {"more": 1}]))
def test_a_changed_note_of_a_backup_counts_as_none(program, home, change):
    note = {
        "id": "1",
        "created_at": 1,
        "finished_at": 1,
        "path": "/",
        "bytes": 1,
        "sha256": "",
        "lacks": "",
        "files": {},
    }
    (home / "state" / "upgrade-backup.json").write_text(json.dumps(note | change))
    status, output = serve(program, home)
    assert status == 0 and "verified" in output
    [row] = upgraded_homes.read_backup_rows(home)
    assert row[0] == "verified" and Path(row[1]).parent == home / "backups"


@pytest.mark.nightly
def test_without_a_backup_it_only_migrates(program, home):
    tables = upgraded_homes.read_tables(home)
    status, output = serve(program, home, "--no-backup")
    assert (status, len(output.splitlines())) == (0, 1), output
    check_updated(home, tables)
    assert not (home / "backups").exists()


def test_a_command_of_the_next_version_says_what_updates_the_databases(program, home, filled):
    before = upgraded_homes.read_tables(home)
    sentence = "The databases are not up to date. Run openclaw-web serve, which creates a backup and updates them.\n"
    assert run(program, home, "backup", "list") == (1, sentence)
    agents = (
        "The database of agent main is not up to date. Run openclaw-web serve, which creates a backup and updates it."
    )
    assert (
        agents
        in run(program, home, "shell", "--no-imports", "-c", "from agents import databases as d; d.get_alias('main')")[
            1
        ]
    )
    assert upgraded_homes.read_tables(home) == before
    status, output = run(program, home, "collect", "--source", f"{filled}-source")  # this failure ends a job
    assert status == 1 and output.endswith(sentence) and "Traceback" not in output, output


def test_a_home_of_a_newer_version_is_refused_in_one_sentence(program, home):
    assert serve(program, home)[0] == 0
    [backup] = home.glob(BACKUPS)
    later = run(program, home, "backup", "create", "--quiet")  # one that this version cannot restore
    assert later[0] == 0
    before = upgraded_homes.list_files(home)
    sentence = (
        "This home is of a newer version than this one (0.2.0). Install that version again, or restore the "
        f"backup from before the update: openclaw-web backup restore {backup} --replace\n"
    )
    for words in (("jobs",), ("collect",), ("backup", "list"), ("migrate_agents",), ("settings",)):
        assert (words, run(ROOT, home, *words)) == (words, (3, sentence))
    assert serve(ROOT, home) == (3, sentence)
    status, output = run(ROOT, home, "migrate")
    assert (status, output.endswith(sentence)) == (3, True)
    assert upgraded_homes.list_files(home) == before
    assert run(ROOT, home, "backup", "restore", str(backup), "--replace")[0] == 0
    assert serve(ROOT, home)[0] == 0


@pytest.mark.nightly
def test_an_agents_database_of_a_newer_version_is_named_and_left(program, home, filled):
    assert serve(program, home, "--no-backup")[0] == 0
    for suffix in ("", "-wal", "-shm"):
        (home / f"{GLOBAL}{suffix}").unlink(missing_ok=True)
    shutil.copy(filled / GLOBAL, home / GLOBAL)
    before = upgraded_homes.list_files(home)[str(AGENT)]
    status, output = serve(ROOT, home)
    assert status == 0
    assert (
        "The database of agent main is of a newer version than this one (0.2.0). Install that version again, "
        "or restore a backup that was created before the update."
    ) in output
    assert upgraded_homes.list_files(home)[str(AGENT)] == before


@pytest.mark.parametrize("size", first(["0", "48k"]))
def test_a_full_disk_refuses_the_update(program, home, tmp_path, size):
    """The backup folder is a disk of its own, without a byte or with too few."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    assert run(ROOT, home, "settings", "set", "backup.folder", str(small))[0] == 0
    before = upgraded_homes.list_files(home)
    space = f"dd if=/dev/zero of={small}/fill bs=4k 2>/dev/null;" if size == "0" else ""
    mount = f'mount -t tmpfs -o size={size if size != "0" else "64k"} tmpfs {small} && {{ {space} exec "$@"; }}'
    status, output = serve(program, home, before=("unshare", "-Urm", "sh", "-c", mount, "sh"))
    first, reason = output.splitlines()
    assert (status, f"{first}\n") == (3, UPDATING.format(home=home))
    assert reason.startswith(f"Not enough space in {small}: ") and reason.endswith(WITHOUT.strip())
    assert upgraded_homes.list_files(home) == before


def test_a_backup_folder_that_cannot_be_written_refuses_the_update(program, home, tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "backups"
    assert run(ROOT, home, "settings", "set", "backup.folder", str(folder))[0] == 0
    before = upgraded_homes.list_files(home)
    reason = f"Backups cannot be written to {folder}. Choose another folder."
    check_refusal(home, before, *serve(program, home), reason)


@pytest.mark.parametrize(
    ("damage", "reason"),
    first(
        [
            ("missing", "The database of agent main is not where it should be. No backup was created."),
            ("blank", f"{AGENT} is damaged: the file is blank."),
            ("beginning", f"{AGENT} is damaged: the file is not a SQLite database, or its beginning is damaged."),
            ("pages", f"{AGENT} is damaged: pages of the file are damaged."),
        ]
    ),
)
def test_a_missing_or_damaged_database_refuses_the_update_with_a_way_out(program, home, filled, damage, reason):
    """The sentence names commands, and they work."""
    records = upgraded_homes.read_tables(home)[AGENT.as_posix(), "transcript_events"]
    break_database(home / AGENT, damage)
    before = upgraded_homes.list_files(home)
    status, output = serve(program, home)
    way_out = WITHOUT_AGENT.format(home=home)
    assert (status, output) == (3, f"{UPDATING.format(home=home)}{reason} {way_out}")
    changed = {AGENT.as_posix()} if damage == "blank" else set()  # SQLite writes a first page when it opens the file
    assert find_changes(home, before) == changed
    for words in (("doctor", "--fix", "--quiet"), ("backup", "list")):
        assert run(program, home, *words) == (2 if words[0] == "doctor" else 1, OUTDATED)
    assert find_changes(home, before) == changed
    assert serve(program, home, "--no-backup")[0] == 0
    source = {"OPENCLAW_STATE_DIR": f"{filled}-source"}
    status, output = run(program, home, "collect", "--again", "--agent", "main", "--quiet", **source)
    assert (status, "is kept in" in output) == (0, damage != "missing"), output
    after = upgraded_homes.read_tables(home)[AGENT.as_posix(), "transcript_events"]
    assert len(after) == len(records)
    digests = [digest for path, digest in upgraded_homes.list_files(home).items() if KEPT.search(path)]
    assert len(digests) == (damage != "missing")
    if damage == "beginning":  # in the others, SQLite could still write
        assert digests == [before[AGENT.as_posix()]]


def find_changes(home, before):
    """The paths of files that are not as before."""
    return {path for path, _digest in upgraded_homes.list_files(home).items() ^ before.items()}


def break_database(file, damage):
    data = bytearray(file.read_bytes())
    half = len(data) // 2
    if damage == "missing":
        file.unlink()
    elif damage == "blank":
        file.write_bytes(b"")
    else:
        start = 0 if damage == "beginning" else half
        size = 50 if damage == "beginning" else 40_000
        data[start : start + size] = random.Random(7).randbytes(size)
        file.write_bytes(data)


@pytest.mark.nightly
@pytest.mark.parametrize("place", [AGENT, AGENT.parent])
def test_a_database_of_another_user_refuses_the_update(program, home, place):
    mode = (home / place).stat().st_mode
    (home / place).chmod(0)
    try:
        status, output = serve(program, home, before=AS_ANYBODY)
        created, sentence = run(ROOT, home, "backup", "create", "--quiet", before=AS_ANYBODY)
    finally:
        (home / place).chmod(mode)
    why = "the file cannot be opened" if place == AGENT else "permission to open or write is missing"
    reason = f"{AGENT} was not read: {why}."
    assert (status, output) == (3, f"{UPDATING.format(home=home)}{reason} {WITHOUT}")
    assert created == 3 and reason in sentence and "Traceback" not in sentence


@pytest.mark.nightly
def test_an_import_between_updates_says_only_what_updates_the_database(program, home, filled):
    """Only the database of the agent is outdated; nothing is wrong with its records."""
    assert serve(program, home, "--no-backup")[0] == 0
    for suffix in ("", "-wal", "-shm"):
        (home / f"{AGENT}{suffix}").unlink(missing_ok=True)
    shutil.copy(filled / AGENT, home / AGENT)
    sentence = (
        "The database of agent main is not up to date. Run openclaw-web serve, which creates a backup and updates it.\n"
    )
    source = {"OPENCLAW_STATE_DIR": f"{filled}-source"}
    for words in ((), ("--again",), ("--again", "--agent", "main")):
        status, output = run(program, home, "collect", "--quiet", *words, **source)
        assert (status, output) == (3, sentence)
    assert [path for path in upgraded_homes.list_files(home) if KEPT.search(path)] == []
    assert serve(program, home)[0] == 0
    assert run(program, home, "collect", "--quiet", **source)[0] == 0


def test_a_failed_migration_keeps_one_backup_however_often_it_starts(program, home, tmp_path):
    tables = upgraded_homes.read_tables(home)
    broken = shutil.copytree(program, tmp_path / "broken")
    migration = next_version.add_failing_migration(broken, "INSERT INTO no_such_table VALUES (1)")
    outputs = [serve(broken, home) for _start in range(4)]
    assert {status for status, _output in outputs} == {1}
    backups = sorted(home.glob(BACKUPS))
    assert len(backups) <= 2  # one of the home as it was; one more when other migrations went before
    advice = (
        f"The backup created before is {backups[-1]}. Start again when this is solved, or return to the version "
        f"used before: install it, and run openclaw-web backup restore {backups[-1]} --replace\n"
    )
    assert "The databases were not updated: SQLite says: no such table: no_such_table." in outputs[-1][1]
    assert outputs[-1][1].endswith(advice) and "which is used again." in outputs[-1][1]
    assert "Traceback" not in "".join(output for _status, output in outputs)
    with closing(sqlite3.connect(home / GLOBAL)) as db:
        assert not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half_done'").fetchall()
    restored = tmp_path / "restored"
    assert run(ROOT, restored, "backup", "restore", str(backups[0]))[0] == 0
    assert upgraded_homes.find_losses(tables, upgraded_homes.read_tables(restored)) == []
    migration.unlink()
    assert serve(broken, home)[0] == 0
    check_updated(home, tables)
    assert sorted(home.glob(BACKUPS)) == backups
    rows = upgraded_homes.read_backup_rows(home)
    assert ("verified", str(backups[-1]), "upgrade") in rows


@pytest.mark.nightly
def test_work_after_a_failed_update_is_in_the_next_backup(program, home, tmp_path):
    broken = shutil.copytree(program, tmp_path / "broken")
    next_version.fail_first(broken)
    for _start in range(2):
        assert serve(broken, home)[0] == 1
    [first] = home.glob(BACKUPS)
    assert run(ROOT, home, "create_user", "ada", "--role", "viewer")[0] == 0  # with the version before, meanwhile
    assert serve(broken, home)[0] == 1
    second = max(home.glob(BACKUPS))
    assert second != first
    assert run(ROOT, tmp_path / "restored", "backup", "restore", str(second))[0] == 0
    assert "ada" in {row["username"] for row in upgraded_homes.read_tables(tmp_path / "restored")[str(GLOBAL), "users"]}


class Update:
    """A start that updates a home; a kill that comes after its update is too late."""

    def __init__(self, program, home):
        self.home = home
        self.process = upgraded_homes.start(program, home, "serve", "--port", "0", "--no-watch")

    def poll(self):
        return None if self.process.poll() is None and has_work(self.home) else 0

    def kill(self):
        self.process.kill()

    def communicate(self):
        self.process.communicate()


def has_work(home):
    """Whether an update of a database, or the row of the backup, is missing."""
    names = [name for file in (GLOBAL, AGENT) for name in upgraded_homes.read_migrations(home / file)]
    return names.count("gate.9999_slow") < 2 or (home / "state" / "upgrade-backup.json").exists()


@pytest.mark.parametrize("moment", first(["migrations", "backup"]))
def test_a_kill_loses_nothing(program, filled, tmp_path, moment):
    tables = upgraded_homes.read_tables(filled)
    slow = shutil.copytree(program, tmp_path / "slow")
    next_version.add_slow_migrations(slow)
    killer = Killer(11, 0.4 if moment == "backup" else 2)
    for number in until_met(killer, kills=FEW):
        home = shutil.copytree(filled, tmp_path / f"home{number}")
        update = Update(slow, home)
        begun = ".backup.*" if moment == "backup" else "openclaw-web-*"
        wait_for(lambda home=home, begun=begun: [*(home / "backups").glob(begun)])
        killer.kill(update)
        status, output = serve(slow, home)
        assert status == 0, output
        check_updated(home, tables)
        backups = sorted(home.glob(BACKUPS))
        assert backups and not [*(home / "backups").glob(".*")]
        assert run(ROOT, tmp_path / f"restored{number}", "backup", "restore", str(backups[0]))[0] == 0
        assert upgraded_homes.find_losses(tables, upgraded_homes.read_tables(tmp_path / f"restored{number}")) == []
