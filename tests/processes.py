"""Runs openclaw-web commands as real processes, each on a home of its own."""

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

from openclaw_web import sentences
from tests.jobs import fork_server

CHECKOUT = Path(__file__).resolve().parents[1]
HANG = 240  # seconds until a wait is given up: a guard, not a measure


def wait_for(condition):
    """Wait until `condition()` is true, and return its value.

    Fails after 240 seconds.
    """
    deadline = time.monotonic() + HANG
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited too long for {condition}"
        time.sleep(0.02)
    return value


def find_free_port():
    """Find a port for a server that starts later or restarts.

    The kernel does not give it to other programs meanwhile: it is below their range.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 30_000)  # below /proc/sys/net/ipv4/ip_local_port_range
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


# How many kills a test needs. With --nightly: KILLS for each mechanism that keeps work whole (a job with progress, a
# transaction in an agent's file, published drafts, a rollback, a backup, a restore, an import), FEW for everything that
# relies on these. tests/conftest.py sets both before it imports the tests.
KILLS, FEW, MOST_TRIES = 1, 1, 60
NIGHTLY_KILLS, NIGHTLY_FEW = 20, 3
TALLIES = {}  # (kills that hit work, tries) by test, for the summary of the test run


def until_met(*killers, kills=None, and_until=lambda: True):
    """Yield the numbers of tries until enough kills hit a process at work.

    Fails when fewer than `kills` of 60 tries did, KILLS when it is not given. `and_until` is a further condition, such
    as a kill between the first row and the last; it must hold, too.
    """
    tries, kills = 0, kills or KILLS
    while ((met := sum(killer.met for killer in killers)) < kills or not and_until()) and tries < MOST_TRIES:
        yield tries
        tries += 1
    note_kills(met, tries)
    assert met >= kills, f"{met} kills in {tries} tries met one at work"
    assert and_until(), f"{tries} kills, none of them at the moment that matters"


def note_kills(met, tries):
    """Have the test run report how many kills of the current test hit work."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    TALLIES[test] = (met, tries)


class Killer:
    """Kills processes at a random moment of their work; `met` counts those at work.

    `seconds` is about how long the work takes. That differs between runs and with the load of the machine, so a kill
    that came too late makes the next ones earlier, and one in time makes them a little later.
    """

    def __init__(self, seed, seconds):
        self.chance, self.seconds, self.met = random.Random(seed), seconds, 0

    def kill(self, process):
        """Kill a process; return whether it was still at work."""
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


def _restore_signals():
    """Restore the default handling of two signals in a child process.

    A shell that runs the tests in the background, or under nohup, makes all child processes ignore them.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Process:
    """A command of openclaw-web in its own process; `said` is its output so far."""

    def __init__(self, env, *args, folder=CHECKOUT):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        pipes["preexec_fn"] = _restore_signals
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
        """Wait for the end of the process and of its output; return the exit status."""
        status = self.popen.wait(seconds)
        self.reader.join(HANG)
        return status

    def descendants(self):
        """The names of all descendant processes, by id."""
        return dict(descendants(self.pid))

    def child(self, name):
        """The process id of the direct child called `name`."""
        return next((pid for pid in children(self.pid) if read_process_name(pid) == name), None)


GONE = (FileNotFoundError, ProcessLookupError)  # raised when a process has ended, by how far the read was


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except GONE:
        return []


def descendants(pid):
    for child in children(pid):
        yield child, read_process_name(child)
        yield from descendants(child)


def read_process_name(pid):
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
    """A home of openclaw-web, and the processes that were started on it."""

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
        """Run `code` in a process of its own; return the last word that it prints."""
        process = self.start("shell", "--no-imports", "-c", code)
        assert process.end(seconds) == 0, process.said
        return process.said.split()[-1]

    def start_job(self, kind, **params):
        return self.python(f"from jobs import services as jobs; print(jobs.start({kind!r}, {params!r}, by='root').id)")

    def job(self, job_id):
        """The current row of a job."""
        with closing(sqlite3.connect(self.path / "state" / "openclaw.sqlite")) as db:
            db.row_factory = sqlite3.Row
            row = dict(db.execute("SELECT * FROM job_runs WHERE id = ?", [job_id]).fetchone())
        return row | {"message": row["message"] and sentences.decode(row["message"])}

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
        """Kill all processes that still run."""
        for process in self.processes:
            pids = [process.pid, *process.descendants()]
            for pid in pids:
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
            process.end()
            process.popen.stdout.close()
