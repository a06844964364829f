"""Rollbacks killed at any moment: file and database agree afterwards, and nothing stays open."""

import pytest

from tests.guardian.faults.process_kills import INTENTS, LAST, RECOVER, SWITCHED_OFF, Killer, open_site, read_rows
from tests.processes import KILLS, until_met, wait_for

pytestmark = pytest.mark.kill
NAMES = ("MEMORY.md", "USER.md")
# An endless loop of an agent that writes, a plugin that reports it, and a person who rolls it back.
WORK = """
import itertools
KIND = {kind!r}
from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from guardian.rollbacks import apply, rollback_plan, service, workspace_access
from openclaw_web import clock
apply.LOOKS = (0.0,)
main = Agent.objects.get()
REQUEST = service.RollbackRequest("otto", "test")
folder = workspace_access.get_workspace(main)

def write(number, name, session):
    file = folder / name
    before = file.read_bytes() if file.exists() else None
    after = (before or b"") + b"line %d\\n" % number if number % 7 else b""
    if before == after:
        return None
    now = clock.now_ms()
    row = WriteGuardianAudit(id=f"w{{number}}-{{now}}-{{name}}", session_id=session, target_file=name,
                             candidate_fact="x", status="written", created_at=now)
    write_store.store_reports(main.db, [Report(row, Source.API, FileChange(before, after), body_sha256="1")])
    draft = folder.parent / "draft"  # the agent itself is killed as well: it never leaves half a file
    draft.write_bytes(after)
    draft.replace(file)
    return row.id

print("working", flush=True)
for number in itertools.count(WriteGuardianAudit.objects.using(main.db).count()):
    if KIND == "one":
        name = write(number, "MEMORY.md", "alone")
        if name and number % 5:
            seen = rollback_plan.plan_rollback(main, name).seen
            service.roll_back(main, name, REQUEST, seen=seen)
    elif write(number, "MEMORY.md", f"s{{number}}") and write(number, "USER.md", f"s{{number}}"):
        plan = rollback_plan.plan_session(main, f"s{{number}}")
        service.roll_back_session(main, f"s{{number}}", REQUEST, seen=plan.hashes)
"""


@pytest.fixture
def site(tmp_path, migrated):
    with open_site(tmp_path, migrated) as site:
        yield site


def check(site):
    """Check that the files hold the results of the newest writes, and the database agrees.

    The database knows of no other change.
    """
    assert [path.name for path in site.folder.iterdir() if path.name not in NAMES] == []
    assert read_rows(site, INTENTS) == [(0,)]
    both = """SELECT count(*) FROM write_guardian_audit a WHERE (a.status = 'rolled_back')
              <> EXISTS (SELECT 1 FROM rollbacks r WHERE r.audit_id = a.id)"""
    assert read_rows(site, both) == [(0,)]
    done = "SELECT count(*) FROM rollback_intents WHERE state = 'done'"
    assert read_rows(site, done) == read_rows(site, "SELECT count(*) FROM rollbacks")
    halves = """SELECT count(*) FROM (SELECT group_id FROM rollback_intents GROUP BY group_id
                HAVING count(DISTINCT state) > 1)"""
    assert read_rows(site, halves) == [(0,)]  # of a session all files, or none
    for name in NAMES:
        file = site.folder / name
        content = file.read_text() if file.exists() else ""
        last = [
            row[0] or "" for side in ("after", "before") for row in read_rows(site, LAST.format(side=side, name=name))
        ]
        # A kill between the plugin's report and the agent's write is not our concern.
        assert content in last or not last


@pytest.mark.parametrize(("kind", "before"), [("one", ""), ("session", ""), ("one", SWITCHED_OFF)])
def test_kills_leave_file_and_database_in_agreement(site, kind, before):
    killer = Killer(site, 14)
    enough = f"SELECT count(*) > {KILLS // 2} FROM rollbacks"
    for _number in until_met(killer, and_until=lambda: read_rows(site, enough) == [(1,)]):
        process = site.start("shell", "--no-imports", "-c", f"{before}\n{WORK.format(kind=kind)}")
        wait_for(lambda process=process: "working" in process.said or process.popen.poll() is not None)
        under_way = killer.kill(process, INTENTS)
        assert int(site.python(f"{before}\n{RECOVER}")) == under_way <= (2 if kind == "session" else 1)
        check(site)
    assert read_rows(site, enough) == [(1,)]
