"""Writes for tests that roll them back, and moments at which a process may end."""

from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from guardian.rollbacks import rollback_plan, service
from guardian.rollbacks.service import RollbackRequest
from tests import faults
from tests.suite import commands

DB, T0, NAME = "agent_ada", 1_770_000_000_000, "MEMORY.md"
WISH = RollbackRequest("otto", "wrong")


def create_write(file, number, before, after):
    """Store a write that an agent carried out and a plugin reported."""
    report_write(file, number, before, after)


def roll_back(ada, number, **more):
    seen = rollback_plan.plan_rollback(ada, f"w{number}", hunk=more.get("hunk")).seen
    return service.roll_back(ada, f"w{number}", WISH, **({"seen": seen} | more))


def run_verb(*words):
    """Return the exit status of `reflection guardian rollback --json`, and its output."""
    return commands.reflection("guardian", "rollback", "--json", *words)[:2]


def get_write(name):
    return WriteGuardianAudit.objects.using(DB).get(id=name)


def report_write(file, number, before, after, **columns):
    """Store a write as a plugin reports it, and put its result into the file.

    The file may hold anything before.
    """
    columns = {"session_id": "s1", "target_file": file.name} | columns
    row = WriteGuardianAudit(
        id=f"w{number}", candidate_fact="x", status="written", created_at=T0 + number * 1000, **columns
    )
    write_store.store_reports(DB, [Report(row, Source.API, FileChange(before, after), body_sha256="1")])
    file.write_bytes(after)


class ProcessEnd(BaseException):
    """Stands for the end of a process: our code never catches it.

    Real kills are in test_rollback_kill.py.
    """


def _die():
    raise ProcessEnd


STEPS = {
    "draft": lambda: faults.before_file_event("open", lambda path: path.endswith(".rollback"), _die),
    "write": lambda: faults.before_statement(
        DB, lambda sql: sql.startswith('INSERT INTO "write_guardian_audit"'), _die
    ),
    "rollback": lambda: faults.before_statement(DB, lambda sql: sql.startswith('INSERT INTO "rollbacks"'), _die),
    "done": lambda: faults.before_statement(DB, lambda sql: sql.startswith('UPDATE "rollback_intents"'), _die),
}
