"""Rollbacks in a workspace on a read-only disk are refused, and leave no open intent.

The disk is mounted in a mount namespace.
"""

import subprocess
import sys

import pytest

from tests.processes import CHECKOUT

from .process_kills import INTENTS, open_site, read_rows

pytestmark = pytest.mark.kill
WROTE = """
from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
row = WriteGuardianAudit(id="w1", session_id="s", target_file="MEMORY.md", candidate_fact="x", status="written",
                         created_at=1_770_000_000_000)
write_store.store_reports(Agent.objects.get().db, [Report(row, Source.API, FileChange(b"a", b"b"), body_sha256="1")])
print("told")
"""
# The rollback is begun, and its process ends before it says so in the database.
BROKEN_OFF = """
import os
from agents.models import Agent
from guardian.rollbacks import service
from tests import faults
db = Agent.objects.get().db
with faults.before_statement(db, lambda sql: sql.startswith('INSERT INTO "write_guardian_audit"'), lambda: os._exit(9)):
    service.roll_back(Agent.objects.get(), "w1", service.RollbackRequest("otto", "Wrong."), seen=None)
"""
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
ROLL_BACK = ("reflection", "guardian", "rollback", "w1", "--reason", "Wrong.")


@pytest.fixture
def site(tmp_path, migrated):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    with open_site(tmp_path, migrated) as site:
        (site.folder / "MEMORY.md").write_text("b")
        site.python(WROTE)
        yield site


def run(site, *words):
    """Run a command for which the workspace is read-only."""
    command = ["unshare", "-Urm", "sh", "-c", READ_ONLY, site.folder, sys.executable, "-m", "openclaw_web", *words]
    done = subprocess.run(command, cwd=CHECKOUT, env=site.env, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def open_intents(site):
    return read_rows(site, INTENTS)[0][0]


def test_it_is_refused_and_can_be_done_later(site):
    status, output = run(site, *ROLL_BACK)
    assert status in (1, 3) and "MEMORY.md is not written: its folder is read-only." in output
    assert open_intents(site) == 0 and (site.folder / "MEMORY.md").read_text() == "b"
    assert site.start(*ROLL_BACK).end() == 0
    assert (site.folder / "MEMORY.md").read_text() == "a"


def test_what_broke_off_is_ended_on_such_a_disk_as_well(site):
    """The exchange is done: the database notes it now, and only the draft remains."""
    assert site.start("shell", "--no-imports", "-c", BROKEN_OFF).end() == 9
    assert open_intents(site) == 1
    status, output = run(site, *ROLL_BACK)
    assert status in (1, 3) and "already" in output
    assert open_intents(site) == 0 and (site.folder / "MEMORY.md").read_text() == "a"
