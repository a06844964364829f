"""Rollbacks that are killed at any moment: afterwards the file and the database say the same, and nothing is left."""

import pytest

from tests.guardian.faults.process_kills import INTENTS, LAST, RECOVER, SWITCHED_OFF, Killer, opened, rows
from tests.processes import until_met, wait_for

pytestmark = pytest.mark.kill
NAMES = ("MEMORY.md", "USER.md")
# An agent that writes, a plugin that tells of it, and a person who rolls back, one after the other for ever.
WORK = """
import itertools
KIND = {kind!r}
from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.recording import storing
from guardian.recording.reports import FileChange, Source, Told
from guardian.rollbacks import exchanging, performing, places, planning, together
from openclaw_web import clock
exchanging.LOOKS = (0.0,)
main = Agent.objects.get()
WISH = performing.Wish("otto", "test")
folder = places.workspace_of(main)

def write(number, name, session):
    file = folder / name
    before = file.read_bytes() if file.exists() else None
    after = (before or b"") + b"line %d\\n" % number if number % 7 else b""
    if before == after:
        return None
    now = clock.now_ms()
    row = WriteGuardianAudit(id=f"w{{number}}-{{now}}-{{name}}", session_id=session, target_file=name,
                             candidate_fact="x", status="written", created_at=now)
    storing.store(main.db, [Told(row, Source.API, FileChange(before, after), body_sha256="1")])
    draft = folder.parent / "draft"  # the agent itself is killed as well: it never leaves half a file
    draft.write_bytes(after)
    draft.replace(file)
    return row.id

print("working", flush=True)
for number in itertools.count(WriteGuardianAudit.objects.using(main.db).count()):
    if KIND == "one":
        name = write(number, "MEMORY.md", "alone")
        if name and number % 5:
            seen = planning.plan(main, name).seen
            performing.perform(main, name, WISH, seen=seen)
    elif write(number, "MEMORY.md", f"s{{number}}") and write(number, "USER.md", f"s{{number}}"):
        made = together.plan_session(main, f"s{{number}}")
        performing.perform_session(main, f"s{{number}}", WISH, seen=made.hashes)
"""


@pytest.fixture
def site(tmp_path, migrated):
    with opened(tmp_path, migrated) as site:
        yield site


def check(site):
    """That the files hold what the newest writes left there, and the database knows of nothing else."""
    assert [one.name for one in site.folder.iterdir() if one.name not in NAMES] == []
    assert rows(site, INTENTS) == [(0,)]
    both = """SELECT count(*) FROM write_guardian_audit a WHERE (a.status = 'rolled_back')
              <> EXISTS (SELECT 1 FROM rollbacks r WHERE r.audit_id = a.id)"""
    assert rows(site, both) == [(0,)]
    done = "SELECT count(*) FROM rollback_intents WHERE state = 'done'"
    assert rows(site, done) == rows(site, "SELECT count(*) FROM rollbacks")
    halves = """SELECT count(*) FROM (SELECT group_id FROM rollback_intents GROUP BY group_id
                HAVING count(DISTINCT state) > 1)"""
    assert rows(site, halves) == [(0,)]  # of a session all files, or none
    for name in NAMES:
        file = site.folder / name
        held = file.read_text() if file.exists() else ""
        last = [row[0] or "" for side in ("after", "before") for row in rows(site, LAST.format(side=side, name=name))]
        # A kill between what the plugin told and what the agent wrote is the agent's affair.
        assert held in last or not last


@pytest.mark.parametrize(("kind", "before"), [("one", ""), ("session", ""), ("one", SWITCHED_OFF)])
def test_twenty_kills_leave_file_and_database_in_agreement(site, kind, before):
    killer = Killer(site, 14)
    for _number in until_met(killer):
        process = site.start("shell", "--no-imports", "-c", f"{before}\n{WORK.format(kind=kind)}")
        wait_for(lambda process=process: "working" in process.said or process.popen.poll() is not None)
        under_way = killer.kill(process, INTENTS)
        assert int(site.python(f"{before}\n{RECOVER}")) == under_way <= (2 if kind == "session" else 1)
        check(site)
    assert rows(site, "SELECT count(*) > 10 FROM rollbacks") == [(1,)]
