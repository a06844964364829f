"""A home of a benchmark, served by a real gunicorn on loopback, and its commands."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SiteServer:
    """An empty home in the folder `home`, served at `address` inside a `with` block; `more` is for its environment."""

    def __init__(self, home, **more):
        self.env = os.environ | {
            "OPENCLAW_WEB_HOME": home,
            "OPENCLAW_STATE_DIR": f"{home}/none",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(ROOT),  # what prepares a home may take helpers from benchmarks/
            **more,
        }
        self.run("migrate", "-v0")

    def run(self, *words):
        """What a command of ours printed."""
        command = [sys.executable, "-m", "openclaw_web", *words]
        return subprocess.run(command, cwd=ROOT, env=self.env, check=True, capture_output=True, text=True).stdout

    def prepare(self, program):
        """What `program`, run in the home, printed behind PREPARED."""
        return self.run("shell", "--no-imports", "-c", program).partition("PREPARED ")[2]

    def __enter__(self):
        command = [sys.executable, "-m", "openclaw_web", "serve", "--port", "0"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, **pipes)
        for line in self.process.stdout:
            if found := re.search(r"is running at http://([^/]+):(\d+)/", line):
                self.address = found[1], int(found[2])
                break
        # Nobody reads on: a full pipe would hold the server up.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
