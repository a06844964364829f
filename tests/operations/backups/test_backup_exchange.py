"""The moment when a restored home takes its place, with and without an atomic exchange.

Processes that work in the home, or begin to, are part of it.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.operations.backups import backup_homes, exchange_failure
from tests.operations.backups.backup_homes import read_tables, run, run_backup, start
from tests.processes import is_locked, wait_for

pytestmark = pytest.mark.kill
LOCK = Path("state") / "home.lock"


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home with a backup from before the user lena was created, and its tables then."""
    home = tmp_path_factory.mktemp("filled") / "home"
    backup_homes.fill(home, sessions=2, turns=3, artifacts=5)
    before = read_tables(home)
    run_backup(home, "create")
    assert run(home, "create_user", "lena")[0] == 0
    return home, before


@pytest.fixture
def home(filled, tmp_path):
    return Path(shutil.copytree(filled[0], tmp_path / "home"))


@pytest.fixture
def restored(filled):
    """The tables as they are in the backup."""
    return filled[1]


def restore_in_steps(home, *, event=0, archive=None):
    words = ("backup", "restore", str(archive or backup_homes.find_archives(home)[0]), "--replace", "--quiet")
    return subprocess.run(
        [sys.executable, "-m", "tests.operations.backups.exchange_failure", str(event), *words],
        cwd=backup_homes.ROOT,
        env=backup_homes.build_environment(home),
        capture_output=True,
        text=True,
    )


def manage(home, *words):
    """Run a command through `manage.py` to its end."""
    command = [sys.executable, "manage.py", *words]
    environment = backup_homes.build_environment(home)
    return subprocess.run(command, cwd=backup_homes.ROOT, env=environment, capture_output=True, text=True)


def list_siblings(home):
    return sorted(path.name for path in home.parent.iterdir() if path.name.startswith((f"{home.name}.", ".")))


@pytest.mark.skipif(not exchange_failure.is_possible(), reason="no seccomp here")
class TestInSteps:
    def test_it_works(self, home, restored):
        old = read_tables(home)
        done = restore_in_steps(home)
        assert done.returncode == 0, done.stderr
        (old_home,) = home.parent.glob("home.before-restore-*")
        assert read_tables(home) == restored and read_tables(old_home) == old
        assert list_siblings(home) == [old_home.name]
        assert not (home / "state" / "restoring").exists()

    @pytest.mark.parametrize("step", [1, 2, 3])
    def test_killed_between_the_steps(self, home, restored, step):
        """Any start puts a home right that was killed between two renames.

        Step 1: nothing has moved. Step 2: there is no home. Step 3: the new home is in place, and the old one has no
        final name yet.
        """
        old = read_tables(home)
        done = restore_in_steps(home, event=step)
        assert done.returncode == -9, done.stderr
        assert home.exists() == (step != 2)
        assert (home.parent / "home.between").exists() == (step != 1)
        assert run(home, "jobs")[0] == 0  # any start repairs the home
        assert read_tables(home) == (restored if step == 3 else old)
        assert not (home.parent / "home.between").exists()
        old_tables = [read_tables(path) for path in home.parent.glob("home.before-restore-*")]
        assert old_tables == ([old] if step == 3 else [restored])
        # The next restore removes the unfinished home, and finishes.
        assert restore_in_steps(home).returncode == 0
        assert read_tables(home) == restored
        old_tables = [read_tables(path) for path in home.parent.glob("home.before-restore-*")]
        assert old in old_tables and not (home / "state" / "restoring").exists()
        assert not [name for name in list_siblings(home) if "restoring" in name or "between" in name]

    def test_whoever_starts_in_between_waits(self, home):
        """While the home is away and its mover is alive, nobody creates an empty one."""
        away = home.rename(home.parent / "home.between")
        with (away / LOCK).open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            process = start(home, "jobs", "--json")
            wait_for(lambda: is_waiting(process.pid) or process.poll() is not None)
            assert process.poll() is None and not home.exists()
        assert process.communicate() and process.returncode == 0
        assert (home / "state" / "openclaw.sqlite").exists() and not away.exists()

    def test_somebody_who_makes_a_home_meanwhile(self, home):
        """A home that somebody creates meanwhile is preserved and does not become the home."""
        before = read_tables(home)
        done = restore_in_steps(home, event="visit")
        assert done.returncode == 3 and "Nothing was restored" in done.stderr
        assert read_tables(home) == before and (home.parent / "home.blank" / "state").is_dir()
        assert not (home.parent / "home.between").exists()
        assert restore_in_steps(home).returncode == 0

    def test_archives_that_get_no_second_name_are_copied(self, home, tmp_path, restored):
        """Archives in an otherwise empty home are copied before that home is removed."""
        archive = backup_homes.find_archives(home)[0]
        blank = tmp_path / "blank"
        (blank / "backups").mkdir(parents=True)
        shutil.copy(archive, blank / "backups" / archive.name)
        done = restore_in_steps(blank, event="links", archive=blank / "backups" / archive.name)
        assert done.returncode == 0, done.stderr
        assert read_tables(blank) == restored
        assert (blank / "backups" / archive.name).read_bytes() == archive.read_bytes()

    def test_a_folder_of_others_of_that_name_stays(self, home):
        others = home.parent / "home.between"
        others.mkdir()
        assert run(home, "jobs", "--json")[0] == 0
        assert list(others.iterdir()) == []


def is_waiting(pid):
    """Whether a process waits for a lock."""
    waiting = (line for line in Path("/proc/locks").read_text().splitlines() if "->" in line)
    return any(f" {pid} " in line for line in waiting)


class TestWhoIsThere:
    def test_nobody_works_in_a_home_that_is_being_restored(self, home):
        before = read_tables(home)
        with (home / LOCK).open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for command in ("jobs", "work", "serve --port 0", "collect", "doctor --fix", "migrate"):
                words = command.split()
                status, out, err = run(home, *words)
                assert status == 3 and "is being restored" in err and not out, (words, err)
            status, out, _err = run(home, "jobs", "--json")
            assert status == 3 and "is being restored" in out
            for words in (["jobs"], ["migrate"], ["shell", "--no-imports", "-c", "print('in it')"]):
                done = manage(home, *words)
                assert done.returncode == 3 and "is being restored" in done.stderr and not done.stdout, words
            wsgi = "import openclaw_web.wsgi"
            done = subprocess.run(
                [sys.executable, "-c", wsgi],
                cwd=backup_homes.ROOT,
                env=backup_homes.build_environment(home),
                capture_output=True,
                text=True,
            )
            assert done.returncode and "is being restored" in done.stderr
        assert read_tables(home) == before

    @pytest.mark.parametrize("entry_point", [("-m", "openclaw_web"), ("manage.py",)], ids=["openclaw-web", "manage.py"])
    def test_every_command_keeps_a_home_where_it_is(self, home, entry_point):
        archive = str(backup_homes.find_archives(home)[0])
        process = subprocess.Popen(
            [sys.executable, *entry_point, "shell", "--no-imports"],
            cwd=backup_homes.ROOT,
            env=backup_homes.build_environment(home),
            stdin=subprocess.PIPE,
        )
        wait_for(lambda: is_locked(home / LOCK))
        status, _out, err = run(home, "backup", "restore", archive, "--replace")
        assert status == 3 and "home.lock" in err
        process.communicate(b"")
        assert run(home, "backup", "restore", archive, "--replace")[0] == 0

    def test_who_began_before_an_exchange_does_not_work_after_it(self, home):
        """A process that read keys and settings of the old home stops after the exchange.

        The name of the home leads to another one by then.
        """
        code = (
            "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'openclaw_web.settings'\n"
            "import django; django.setup(); print('ready', flush=True); input()\n"
            "from openclaw_web.commands import cli; sys.argv[1:] = ['jobs']; cli.main()"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", code]
        early = subprocess.Popen(command, cwd=backup_homes.ROOT, env=backup_homes.build_environment(home), **pipes)
        assert early.stdout.readline() == "ready\n"
        run_backup(home, "restore", str(backup_homes.find_archives(home)[0]), "--replace")
        _out, err = early.communicate("\n")
        assert early.returncode == 3 and "was restored a moment ago" in err


@pytest.mark.skipif(os.getuid(), reason="only root can mount")
def test_backups_on_a_disk_of_their_own_are_not_touched(home, tmp_path):
    archive = backup_homes.find_archives(home)[0]
    blank = tmp_path / "blank"
    (blank / "backups").mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", blank / "backups"], capture_output=True).returncode:
        pytest.skip("no mounts here")
    try:
        shutil.copy(archive, blank / "backups")
        status, _out, err = run(blank, "backup", "restore", str(blank / "backups" / archive.name))
        assert status == 3 and "is a mount point" in err
        assert os.listdir(blank / "backups") == [archive.name]
    finally:
        subprocess.run(["umount", blank / "backups"], check=True)


def test_backups_behind_a_link_stay_where_they_are(home, tmp_path):
    disk = (home / "backups").rename(tmp_path / "disk")
    (home / "backups").symlink_to(disk)
    path = str(backup_homes.find_archives(home)[0])
    run_backup(home, "restore", path, "--replace")
    assert (home / "backups").readlink() == disk
    assert [backup["path"] for backup in run_backup(home, "list")["backups"]] == [path]
    assert os.listdir(disk) == [Path(path).name]
