"""Writes to memory files with everything around them: what a backup and what archives give back."""

import sqlite3
from contextlib import closing

import pytest

from tests import homes
from tests.operations.backups.backing_up import python, receipt, run, tables

pytestmark = pytest.mark.kill
SESSIONS, TURNS = 3, 20
COUNT = SESSIONS * TURNS
MAIN = "agents/main/agent/openclaw-agent.sqlite"
GUARDIAN = (
    *("write_guardian_audit", "file_snapshots", "guardian_statuses", "guardian_receipts", "rollbacks"),
    *("rollback_intents", "behavior_corrections", "guardian_consolidations"),
)
# As a plugin tells them, every fifth file no UTF-8; one that was taken back and corrected, and a rollback under way.
FILL = """
from agents.models import Agent
from guardian.collectors.found import FoundCorrection, FoundRollback, FoundWrite
from guardian.models import FileSnapshot, RollbackIntent
from guardian.recording import imported, storing, unattributed
from guardian.recording.told import FileChange, Source, Told
from guardian.models import WriteGuardianAudit
from ledger.models import ConversationTurn
from overview import memory_sums
agent, db = Agent.objects.get(agent_id="main"), "agent_main"
content = lambda n: b"line %d\\n" % n + (b"\\xff\\x00" if n % 5 == 0 else b"")
for n, turn in enumerate(ConversationTurn.objects.using(db).order_by("id")):
    row = WriteGuardianAudit(id=f"w{n}", turn_id=turn.id, session_id=turn.session_id, target_file="USER.md",
        candidate_fact=f"Fact {n}", status="written", created_at=turn.created_at + n * 60_000)
    storing.store(db, [Told(row, Source.API, FileChange(content(n - 1), content(n)), body_sha256=f"{n}")])
said = ("written", "Old.", "SOUL.md"), ("refused", None, None)
imported.store(agent, [FoundWrite(id="old", at=1, target_file="SOUL.md", status="rolled_back", fact="Old.",
    rollback=FoundRollback("r1", 2, "eve", "Wrong."),
    corrections=(FoundCorrection("c1", 3, "eve", *said, "Never.", "old"),))], Source.DATABASE)
unattributed.note_consolidations(db, [5, 6])
RollbackIntent.objects.using(db).create(id="i1", file_name="USER.md", audits_json="[]", draft_name="x", created_at=1,
    ended_at=2, state="undone")
memory_sums.refresh(agent)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("writes") / "home"
    source = homes.Home(home.parent / "home-source")
    for _session in range(SESSIONS):
        script = source.transcript()
        for turn in range(TURNS):
            script.add(homes.user(f"Question {turn}"), homes.assistant(f"Answer {turn}"))
    assert run(home, "collect")[0] == 0
    python(home, FILL)
    return home


def test_a_backup_gives_everything_back(filled, tmp_path):
    before, new = tables(filled), tmp_path / "new"
    assert len([row for row in before[MAIN, "write_guardian_audit"] if "recorded" in row]) == COUNT
    assert all(before[MAIN, name] for name in GUARDIAN)
    made = receipt(filled, "create")["backup"]
    assert made["status"] == "verified"
    receipt(new, "restore", made["path"])
    after = tables(new)
    assert [key for key in before if after[key] != before[key]] == []


def test_sessions_that_are_archived_and_restored_are_what_they_were(filled):
    before = tables(filled)
    assert run(filled, "archive", "--older-than", "30d")[0] == 0
    gone = tables(filled)
    assert not gone[MAIN, "sessions"] and not gone[MAIN, "conversation_turns"]
    assert [name for name in GUARDIAN if gone[MAIN, name] != before[MAIN, name]] == []
    assert run(filled, "archive", "restore", str(filled / "archive"))[0] == 0
    assert [name for name in GUARDIAN if tables(filled)[MAIN, name] != before[MAIN, name]] == []
    unmatched = "SELECT count(*) FROM write_guardian_audit WHERE turn_id NOT IN (SELECT id FROM conversation_turns)"
    with closing(sqlite3.connect(filled / MAIN)) as db:
        assert db.execute(unmatched).fetchone() == (0,)
