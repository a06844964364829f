"""Commands of openclaw-web as real processes on homes of their own: start them, look at them, end them."""

import fcntl
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

from tests.jobs import fork_server

CHECKOUT = Path(__file__).resolve().parents[1]
HANG = 240  # seconds until a wait is given up: a guard, not a measure


def wait_for(condition):
    """What `condition` returns, as soon as that is true."""
    deadline = time.monotonic() + HANG
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited too long for {condition}"
        time.sleep(0.02)
    return value


def free_port():
    """A port for a server that is started later, or again: not one that the kernel gives to others meanwhile."""
    while True:
        port = random.SystemRandom().randrange(10_000, 30_000)  # below /proc/sys/net/ipv4/ip_local_port_range
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


# Kills at any moment of work: KILLS for what keeps work whole (a job with progress, a transaction in an agent's file,
# drafts that are published, a rollback, a backup, a restore, an import), FEW for each other thing that relies on these.
KILLS, FEW, MOST_TRIES = 20, 3, 60
TALLIES = {}  # kills that met work and tries, by test: what the end of a test run tells


def until_met(*killers, kills=KILLS, and_until=lambda: True):
    """Numbers of tries, until so many kills of these killers met processes at work; fails when too few of 60 did.

    `and_until` says what else has to have been met, such as a moment between the first row and the last.
    """
    tries = 0
    while ((met := sum(killer.met for killer in killers)) < kills or not and_until()) and tries < MOST_TRIES:
        yield tries
        tries += 1
    note_kills(met, tries)
    assert met >= kills, f"{met} kills in {tries} tries met one at work"


def note_kills(met, tries):
    """Have the end of the test run tell how many kills of the current test met work."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    TALLIES[test] = (met, tries)


class Killer:
    """Kills processes at any moment of their work, which takes about so many seconds: `met` counts who still ran.

    How long work takes differs between runs, and with what else the machine does. So a kill that came too late makes
    the next ones earlier, and one in time makes them a little later.
    """

    def __init__(self, seed, seconds):
        self.chance, self.seconds, self.met = random.Random(seed), seconds, 0

    def kill(self, process):
        """Kill a process; whether it was still at work."""
        time.sleep(self.seconds * self.chance.random())  # the moment is meant to be any
        was_at_work = process.poll() is None
        process.kill()
        process.communicate()
        self.seconds *= 1.1 if was_at_work else 0.8
        self.met += was_at_work
        return was_at_work


def is_locked(file):
    """Whether some process holds a lock on a file."""
    if not file.exists():
        return False
    with file.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _hears_signals():
    """A shell that runs the tests in the background, or under nohup, makes all below deaf to these."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Process:
    """A command of openclaw-web in a process of its own, with what it has said so far."""

    def __init__(self, env, *args, folder=CHECKOUT):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        pipes["preexec_fn"] = _hears_signals
        module = "tests.jobs.jobs_for_tests"
        self.popen = fork_server.start(module, *args, env=env, cwd=folder, start_new_session=True, **pipes)
        self.pid = self.popen.pid
        self.said = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.said += line

    def address(self):
        """The address of a server, once it answers."""
        return wait_for(lambda: re.search(r"is running at (\S+)/", self.said) or self._still_runs())[1]

    def invitation(self):
        """The address that makes the first admin, once a server has printed it."""
        return wait_for(lambda: re.search(r"first admin[^:]*: (\S+)", self.said) or self._still_runs())[1]

    def _still_runs(self):
        assert self.popen.poll() is None, self.said

    def signal(self, number):
        self.popen.send_signal(number)

    def end(self, seconds=HANG):
        """Its exit status, once it and everybody who could write to its pipe has ended."""
        status = self.popen.wait(seconds)
        self.reader.join(HANG)
        return status

    def descendants(self):
        """The names of all processes below it, by id."""
        return dict(descendants(self.pid))

    def child(self, name):
        """The process id of the direct child called `name`."""
        return next((pid for pid in children(self.pid) if name_of(pid) == name), None)


GONE = (FileNotFoundError, ProcessLookupError)  # what reading of a process that has ended raises, by when it ended


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except GONE:
        return []


def descendants(pid):
    for child in children(pid):
        yield child, name_of(child)
        yield from descendants(child)


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except GONE:
        return None


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except GONE:
        return False


class Home:
    """A home of its own, and the processes that were started on it."""

    def __init__(self, path):
        self.path = path
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
        self.env = inherited | {
            "OPENCLAW_WEB_HOME": str(path),
            "OPENCLAW_STATE_DIR": str(path / "no-openclaw-here"),
            "PYTHONUNBUFFERED": "1",
        }
        self.processes = []

    @classmethod
    def copied(cls, other, path):
        """A home at `path` that begins as a copy of the folder `other`."""
        return cls(shutil.copytree(other, path))

    def start(self, *args, **options):
        self.processes.append(Process(self.env, *args, **options))
        return self.processes[-1]

    def serve(self, *args, **options):
        return self.start("serve", "--port", "0", *args, **options)

    def python(self, code, seconds=HANG):
        """The last word that `code` prints in a process of its own."""
        process = self.start("shell", "--no-imports", "-c", code)
        assert process.end(seconds) == 0, process.said
        return process.said.split()[-1]

    def start_job(self, kind, **params):
        return self.python(f"from jobs import services as jobs; print(jobs.start({kind!r}, {params!r}, by='root').id)")

    def job(self, job_id):
        """The row of a run as it is now."""
        with closing(sqlite3.connect(self.path / "state" / "openclaw.sqlite")) as db:
            db.row_factory = sqlite3.Row
            return dict(db.execute("SELECT * FROM job_runs WHERE id = ?", [job_id]).fetchone())

    def count(self, sql):
        with closing(sqlite3.connect(self.path / "state" / "openclaw.sqlite")) as db:
            return db.execute(sql).fetchone()[0]

    @contextmanager
    def locked(self):
        """Hold the write lock of the global database."""
        with closing(sqlite3.connect(self.path / "state" / "openclaw.sqlite", isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            yield
            db.execute("ROLLBACK")

    def close(self):
        """End what still runs."""
        for process in self.processes:
            left = [process.pid, *process.descendants()]
            for pid in left:
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
            process.end()
            process.popen.stdout.close()
