"""Kills of processes that work on memory files, and the state of their database."""

import random
import sqlite3
import time
from contextlib import closing, contextmanager

from tests.homes import Home as OpenClaw
from tests.homes import assistant, user
from tests.processes import HANG, Home

INTENTS = "SELECT count(*) FROM rollback_intents WHERE ended_at IS NULL"
# As on a kernel or a file system that exchanges no files: it refuses flags that it does not know.
SWITCHED_OFF = """
from guardian.rollbacks import workspace
workspace.RENAME_EXCHANGE = workspace.RENAME_NOREPLACE = 1 << 30
"""
RUNS = "SELECT count(*) FROM guardian_runs WHERE state = 'running' AND created_at >= {since}"


RECOVER = """
from agents.models import Agent
from guardian.rollbacks import apply, recovery
apply.LOOKS = (0.0,)
print(len(recovery.recover(Agent.objects.get())))
"""
# The content before or after the newest write that changed a file: refused and skipped ones have no content.
LAST = """SELECT coalesce(c.text, f.content) FROM write_guardian_audit a
          LEFT JOIN file_snapshots f ON f.id = a.{side}_snapshot_id
          LEFT JOIN file_contents c ON f.content = 'sha256:' || c.id
          WHERE a.target_file = '{name}' AND a.status IN ('written', 'rolled_back')
          ORDER BY a.created_at DESC, a.rowid DESC LIMIT 1"""


@contextmanager
def open_site(tmp_path, migrated):
    """Open a home with one imported agent, whose workspace this site may change.

    Its attribute `folder` is the workspace.
    """
    source = OpenClaw(tmp_path.resolve() / "openclaw")
    source.transcript(user("Hello"), assistant("Hello"))
    site = Home.copied(migrated, tmp_path / "home")
    site.env |= {"OPENCLAW_WEB_WORKSPACE_WRITES": "1", "OPENCLAW_STATE_DIR": str(source.root)}
    site.folder = source.root / "workspace"
    site.folder.mkdir(exist_ok=True)
    collected = site.start("collect", "--source", str(source.root), "--quiet")
    assert collected.end() == 0, collected.said
    yield site
    site.close()


def read_rows(site, sql):
    """Return rows of the agent's database."""
    with closing(sqlite3.connect(site.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        return store.execute(sql).fetchall()


class Killer:
    """Kills processes at any moment of a piece of work of a few milliseconds.

    `met` counts the kills that came in the middle of the work.

    How long the work takes differs between machines: a kill that came too late makes the next ones earlier.
    """

    def __init__(self, site, seed, *, pause=0.2):
        self.pause = pause  # before it looks for work: up to so many seconds
        self.site, self.chance = site, random.Random(seed)
        self.seconds, self.met = 0.02, 0

    def kill(self, process, work):
        """Kill a process soon after the query `work` has begun to count something.

        Returns what the query counts when the process is gone.
        """
        time.sleep(self.pause * self.chance.random())
        deadline = time.monotonic() + HANG
        while not read_rows(self.site, work)[0][0]:
            assert process.popen.poll() is None and time.monotonic() < deadline, process.said
            time.sleep(0.001)
        time.sleep(self.seconds * self.chance.random())
        assert process.popen.poll() is None, process.said
        process.popen.kill()
        process.end()
        ((count,),) = read_rows(self.site, work)
        self.seconds *= 1.05 if count else 0.6
        self.met += bool(count)
        return count
