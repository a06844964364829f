"""Serves a benchmark's home by a real gunicorn on loopback, and runs commands on it."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SiteServer:
    """An empty home in the folder `home`, served at `address` inside a `with` block.

    `more` are further environment variables.
    """

    def __init__(self, home, **more):
        self.env = os.environ | {
            "OPENCLAW_WEB_HOME": home,
            "OPENCLAW_STATE_DIR": f"{home}/none",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(ROOT),  # programs that prepare a home may import from benchmarks/
            **more,
        }
        self.run("migrate", "-v0")

    def run(self, *words):
        """Run a command of ours; return its output."""
        command = [sys.executable, "-m", "openclaw_web", *words]
        return subprocess.run(command, cwd=ROOT, env=self.env, check=True, capture_output=True, text=True).stdout

    def prepare(self, program):
        """Run `program` in the home; return its output after PREPARED."""
        return self.run("shell", "--no-imports", "-c", program).partition("PREPARED ")[2]

    def __enter__(self):
        command = [sys.executable, "-m", "openclaw_web", "serve", "--port", "0"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, **pipes)
        for line in self.process.stdout:
            if match := re.search(r"is running at http://([^/]+):(\d+)/", line):
                self.address = match[1], int(match[2])
                break
        # The output is read to its end, because a full pipe would block the server.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return self

    def read_processor_ms(self):
        """The processor time of the server and its workers so far, in milliseconds."""
        ticks, parents = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # a process that ended meanwhile
                continue
            pid = int(path.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))  # with that of ended children
        family = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return sum(ticks[pid] for pid in family) * 1000 / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
