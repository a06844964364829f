"""Backups and archives of 10,000 gate decisions and memory writes give back everything.

Their windows, replays, snapshots, rollbacks and corrections are in the home too.
"""

import sqlite3
from contextlib import closing

import pytest

from tests import homes
from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import read_tables, run, run_backup, run_python

pytestmark = pytest.mark.kill
COUNT, SESSIONS, TURNS = 10_000, 5, 40
MAIN = "agents/main/agent/openclaw-agent.sqlite"
GATE = (
    *("memory_gate_decisions", "memory_gate_stats", "gate_windows", "gate_receipts", "gate_calls", "gate_prompts"),
    *("gate_replays", "gate_replay_decisions", "gate_hours", "gate_session_sums"),
)
GUARDIAN = (
    *("write_guardian_audit", "file_snapshots", "guardian_statuses", "guardian_receipts", "rollbacks"),
    *("rollback_intents", "behavior_corrections", "guardian_consolidations"),
)
# Decisions as a plugin reports them, 100 at a time, every hundredth with a long response; failed calls; a replay.
DECISIONS = f"""
from agents.models import Agent
from gate.models import GateCall, GatePrompt, GateReplay, GateReplayDecision, MemoryGateDecision
from gate.recording import api_import, decision_store
from gate.schemas import DecisionIn
from ledger.models import ConversationTurn
agent, kinds = Agent.objects.get(agent_id="main"), MemoryGateDecision.Decision.values
turns = list(ConversationTurn.objects.using("agent_main").order_by("id"))
def build_decision(number):
    turn, kind = turns[number % len(turns)], kinds[number % len(kinds)]
    window = [dict(role="user", message=f"Message {{number - n}}", timestamp=turn.created_at) for n in range(3)]
    return DecisionIn(
        id=f"d{{number}}", turn_id=turn.id, session_id=turn.session_id, decision=kind, reason=f"Because {{number}}.",
        candidate_fact=None if kind == "NO_WRITE" else f"Fact {{number}}", llm_model=f"gate-{{number % 3}}",
        llm_latency_ms=number % 9_000, prompt_tokens=400, completion_tokens=9, cost_usd=number / 10**6,
        raw_response=f"{{number}} " * (20_000 if number % 100 == 0 else 5), prompt_version=f"p{{number % 2}}",
        context=None if number % 4 else window, created_at=turn.created_at + number * 60_000)
for start in range(0, {COUNT}, 100):
    api_import.record_reports(agent, list(map(build_decision, range(start, start + 100))))
decision_store.store_calls("agent_main", [GateCall(id=f"c{{n}}", session_id="s", origin="own", outcome="failed",
    cost_usd=0.1, raw_response="no answer " * (9_000 if n % 50 == 0 else 1),
    created_at=10**12 + n) for n in range(500)])
GatePrompt.objects.using("agent_main").create(id="p0", text="Decide.", created_at=1)
replay = GateReplay.objects.using("agent_main").create(
    id="r", llm_model="gate-9", prompt_version="p9", started_by="mei", created_at=1)
GateReplayDecision.objects.using("agent_main").bulk_create([GateReplayDecision(
    replay=replay, decision_id=f"d{{n}}", number=n, original="NO_WRITE", decision="NO_WRITE", reason=f"Not {{n}}",
    created_at=2)
    for n in range({COUNT})])
"""


# Writes as a plugin reports them, every fifth file not UTF-8; a rolled back and corrected one; a pending rollback.
WRITES = """
from agents.models import Agent
from guardian.collectors.source_writes import SourceCorrection, SourceRollback, SourceWrite
from guardian.models import FileSnapshot, RollbackIntent
from guardian.recording import log_import, write_store, snapshot_matching
from guardian.recording.reports import FileChange, Source, Report
from guardian.models import WriteGuardianAudit
from ledger.models import ConversationTurn
from overview import memory_sums
agent, db = Agent.objects.get(agent_id="main"), "agent_main"
content = lambda n: b"line %d\\n" % n + (b"\\xff\\x00" if n % 5 == 0 else b"")
for n, turn in enumerate(ConversationTurn.objects.using(db).order_by("id")):
    row = WriteGuardianAudit(id=f"w{n}", turn_id=turn.id, session_id=turn.session_id, target_file="USER.md",
        candidate_fact=f"Fact {n}", status="written", created_at=turn.created_at + n * 60_000)
    write_store.store_reports(db, [Report(row, Source.API, FileChange(content(n - 1), content(n)), body_sha256=f"{n}")])
values = ("written", "Old.", "SOUL.md"), ("refused", None, None)
log_import.import_writes(agent, [SourceWrite(id="old", at=1, target_file="SOUL.md", status="rolled_back", fact="Old.",
    rollback=SourceRollback("r1", 2, "eve", "Wrong."),
    corrections=(SourceCorrection("c1", 3, "eve", *values, "Never.", "old"),))], Source.DATABASE)
snapshot_matching.store_consolidations(db, [5, 6])
RollbackIntent.objects.using(db).create(id="i1", file_name="USER.md", audits_json="[]", draft_name="x", created_at=1,
    ended_at=2, state="undone")
memory_sums.refresh(agent)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("evidence") / "home"
    source = homes.Home(home.parent / "home-source")
    for _session in range(SESSIONS):
        script = source.transcript()
        for turn in range(TURNS):
            script.add(homes.user(f"Question {turn}"), homes.assistant(f"Answer {turn}"))
    assert run(home, "collect")[0] == 0
    for code in (DECISIONS, WRITES):
        run_python(home, code)
    return home


def test_a_backup_gives_everything_back(filled, tmp_path):
    before, new = read_tables(filled), tmp_path / "new"
    assert len(before[MAIN, "memory_gate_decisions"]) == COUNT
    assert len([row for row in before[MAIN, "write_guardian_audit"] if "recorded" in row]) == SESSIONS * TURNS
    assert len(before[MAIN, "gate_windows"]) > COUNT // 4 and all(before[MAIN, name] for name in (*GATE, *GUARDIAN))
    made = run_backup(filled, "create")["backup"]
    assert made["status"] == "verified"
    run_backup(new, "restore", made["path"])
    after = read_tables(new)
    assert [key for key in before if after[key] != before[key]] == []
    assert backup_homes.hash_artifacts(new) == backup_homes.hash_artifacts(filled) and backup_homes.are_artifacts_sound(
        new
    )


def test_sessions_that_are_archived_and_restored_are_what_they_were(filled):
    before, stored = read_tables(filled), backup_homes.hash_artifacts(filled)
    assert run(filled, "archive", "--older-than", "30d")[0] == 0
    gone = read_tables(filled)
    for name in ("sessions", "conversation_turns", "conversation_contexts"):
        assert before[MAIN, name] and not gone[MAIN, name], name
    assert [name for name in (*GATE, *GUARDIAN) if gone[MAIN, name] != before[MAIN, name]] == []
    run_python(filled, backup_homes.CLEAR)
    assert backup_homes.hash_artifacts(filled) == stored  # these artifacts are long responses
    assert run(filled, "archive", "restore", str(filled / "archive"))[0] == 0
    after = read_tables(filled)
    noted = ("state/openclaw.sqlite", "collector_sessions")  # its rows contain the time of import
    assert {key for key in before if before[key] != after[key]} <= {noted}
    with closing(sqlite3.connect(filled / MAIN)) as db:
        for table in ("memory_gate_decisions", "write_guardian_audit"):
            unmatched = f"SELECT count(*) FROM {table} WHERE turn_id NOT IN (SELECT id FROM conversation_turns)"
            assert db.execute(unmatched).fetchone() == (0,), table
