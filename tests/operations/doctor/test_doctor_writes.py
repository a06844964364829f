"""Writes that contradict their versions and histories: reported, and repaired where derivable."""

import json

import pytest

from tests.homes import Home, assistant, user
from tests.operations.backups.backup_homes import run, run_python
from tests.operations.doctor.doctor_homes import change, doctor, rows

pytestmark = pytest.mark.kill
# Six writes as a plugin reports them, one of them refused, and one that was rolled back in the plugin's database.
FILL = """
from agents.models import Agent
from guardian.collectors.source_writes import SourceRollback, SourceWrite
from guardian.recording import log_import, api_import
from guardian.recording.schemas import WriteIn
from guardian.recording.reports import Source
agent = Agent.objects.get(agent_id="main")
def write(n, **more):
    return WriteIn.model_validate(dict(id=f"w{n}", session_id="s1", target_file="USER.md", candidate_fact=f"Fact {n}.",
        created_at=1_770_000_000_000 + n * 60_000) | more)
sides = [dict(status="written", before="x\\n" * n, after="x\\n" * (n + 1)) for n in range(5)]
api_import.record_reports(agent, [write(n, **side) for n, side in enumerate(sides)] + [write(5, status="refused")])
log_import.import_writes(agent, [SourceWrite(id="old", at=1, target_file="SOUL.md", status="rolled_back", fact="Old.",
    rollback=SourceRollback("r1", 2, "eve", "Wrong."))], Source.DATABASE)
"""


@pytest.fixture
def home(tmp_path):
    source = Home(tmp_path / "home-source")
    source.transcript(user("Question"), assistant("Answer"))
    doctor(tmp_path / "home", "--fix", status=0)
    run_python(tmp_path / "home", FILL)
    return tmp_path / "home"


def read_guardian_findings(home, *words, status=1):
    """Return the findings about writes, by check."""
    looked, _status = doctor(home, *words, status=status)
    return {finding["check"]: finding for finding in looked["store"] if finding["check"].startswith("guardian_")}


def test_nothing_is_said_of_what_is_whole(home):
    assert rows(home, "SELECT count(*) FROM write_guardian_audit", "main") == [(8,)]
    assert read_guardian_findings(home, "--deep", status=0) == {}


@pytest.mark.parametrize(
    ("how", "check", "sentence"),
    [
        ("DELETE FROM guardian_statuses WHERE audit_id = 'w5'; DELETE FROM write_guardian_audit WHERE id = 'w5'",
         "guardian_receipts", "1 receipt of agent main names a write that is missing: w5."),
        ("UPDATE write_guardian_audit SET status = 'refused' WHERE id IN ('w1', 'old')",
         "guardian_statuses", "2 statuses of writes of agent main do not match the histories of the writes: old, w1."),
        ("DELETE FROM guardian_statuses WHERE audit_id = 'w2'",
         "guardian_statuses", "1 status of a write of agent main does not match the histories of the writes: w2."),
        ("UPDATE write_guardian_audit SET status = 'rolled_back' WHERE id = 'w3'",
         "guardian_statuses", "1 status of a write of agent main does not match the histories of the writes: w3."),
        ("UPDATE write_guardian_audit SET diff = 'nothing' WHERE id = 'w1'",
         "guardian_diffs", "1 diff of a write of agent main does not match the versions of the files: w1."),
        ("UPDATE write_guardian_audit SET lines_added = 7, hunks_json = NULL WHERE id IN ('w1', 'w2')",
         "guardian_diffs", "2 diffs of writes of agent main do not match the versions of the files: w1, w2."),
    ],
)  # fmt: skip
def test_what_follows_from_the_rest_is_made_again(home, how, check, sentence):
    before = rows(home, "SELECT id, status, diff, hunks_json, lines_added FROM write_guardian_audit ORDER BY 1", "main")
    change(home, how, "main")
    findings = read_guardian_findings(home, "--deep")
    assert {name: finding["sentence"] for name, finding in findings.items()} == {check: sentence}
    assert findings[check]["is_repairable"]
    # A fix repairs only findings of its own check, so it has to be deep as well.
    fixed, _status = doctor(home, "--fix", "--deep", status=0)
    repaired = [repair["check"] for repair in fixed["run"]["repairs"] if repair["is_done"]]
    assert [name for name in repaired if name != "sums"] == [check]  # sums of the overview follow the writes
    assert read_guardian_findings(home, "--deep", status=0) == {}
    after = rows(home, "SELECT id, status, diff, hunks_json, lines_added FROM write_guardian_audit ORDER BY 1", "main")
    assert after == ([row for row in before if row[0] != "w5"] if check == "guardian_receipts" else before)
    run_python(home, FILL)
    assert rows(home, "SELECT count(*) FROM write_guardian_audit", "main") == [(8,)]


WRITES = "SELECT id, status, diff, hunks_json, lines_added, lines_removed FROM write_guardian_audit ORDER BY 1"
# This site rolls w4 back, and a person corrects w3 for the future: w4 names that rule.
MORE = """
from pathlib import Path
from agents.models import Agent
from guardian.corrections import correction_store
from guardian.models import Rollback, RollbackIntent, WriteGuardianAudit
from guardian.rollbacks import intent_store
from guardian.rollbacks.intent_store import Step, Reversal
agent = Agent.objects.get(agent_id="main")
rule = correction_store.correct_write(agent, "w3", status="refused", reason="No.", apply_to_future=True, by="mei")
WriteGuardianAudit.objects.using(agent.db).filter(id="w4").update(rule_id=rule.id)
step = Step("USER.md", b"x\\n" * 5, b"x\\n" * 4, ("w4",), (Reversal("w4", "r4", "exact"),))
intent_store.finish_intents(agent.db, intent_store.store_intents(agent.db, Path("/nowhere"), [step], "otto", "Wrong."))
RollbackIntent.objects.using(agent.db).update(state="done", ended_at=1)
"""
LOST = {
    "guardian_versions_gone": "DELETE FROM file_snapshots WHERE id = (SELECT before_snapshot_id"
                              " FROM write_guardian_audit WHERE id = 'w3')",
    "guardian_rollbacks": "DELETE FROM rollbacks WHERE audit_id = 'w4'",
    "guardian_corrections": "DELETE FROM behavior_corrections",
    "guardian_intents_gone": "DELETE FROM rollback_intents",
    "guardian_receipts_gone": "DELETE FROM guardian_receipts WHERE id = 'w1'",
}  # fmt: skip


@pytest.mark.parametrize("check", LOST)
def test_rows_that_are_gone_are_named_with_the_backup_that_has_them(home, check):
    run_python(home, MORE)
    assert read_guardian_findings(home, "--deep", status=0) == {}
    before = rows(home, WRITES, "main")
    change(home, f"PRAGMA foreign_keys=OFF; {LOST[check]}", "main")
    for backup in find_backups(home):
        backup.unlink()
    for words in ((), ("--deep",)):
        findings = read_guardian_findings(home, *words)
        assert set(findings) == {check} and not findings[check]["is_repairable"]
        assert findings[check]["sentence"].endswith(" No backup exists.")
    doctor(home, "--fix", "--deep")
    assert rows(home, WRITES, "main") == before  # nothing is derived from missing rows
    assert set(read_guardian_findings(home)) == {check}


def find_backups(home):
    return list((home / "backups").glob("*.tar.zst"))


def test_the_backup_that_holds_a_missing_version_is_named(home):
    run_python(home, MORE)
    before = find_backups(home)
    run(home, "backup", "create")
    (complete_backup,) = set(find_backups(home)) - set(before)
    for how in LOST.values():
        change(home, f"PRAGMA foreign_keys=OFF; {how}", "main")
    run(home, "backup", "create")  # this backup lacks the lost rows
    quick, deep = read_guardian_findings(home), read_guardian_findings(home, "--deep")
    assert set(quick) == set(deep) == set(LOST)
    for check in LOST:
        assert quick[check]["sentence"].endswith("openclaw-web doctor --deep searches the backups.")
        named = f"The backup {complete_backup} contains it: openclaw-web backup restore {complete_backup} --replace"
        assert deep[check]["sentence"].endswith(named)
    assert quick["guardian_versions_gone"]["sentence"].startswith(
        "2 rows of agent main name a version of a memory file that is missing: w3 (USER.md@"
    )
    assert quick["guardian_rollbacks"]["sentence"].startswith("1 write of agent main has lost its rollback: w4.")


def test_a_version_that_is_damaged_needs_a_backup(home):
    change(home, "UPDATE file_snapshots SET content = 'other' WHERE id = (SELECT after_snapshot_id"
                 " FROM write_guardian_audit WHERE id = 'w4')", "main")  # fmt: skip
    assert read_guardian_findings(home, status=0) == {}
    findings = read_guardian_findings(home, "--deep")
    assert "1 version of a memory file of agent main is damaged" in findings["guardian_versions"]["sentence"]
    assert not findings["guardian_versions"]["is_repairable"] and len(findings) == 1


def test_a_rollback_that_was_interrupted_is_undone(home):
    workspace = home.parent / "home-source" / "workspace"
    workspace.mkdir(exist_ok=True)
    request = {"by": "otto", "reason": "No.", "at": 1, "own_id": "x", "place": str(workspace), "takes": []}
    change(home, "INSERT INTO rollback_intents"
                 " (id, file_name, audits_json, draft_name, told_json, state, created_at, meanwhile_json, settled_json)"
                 f" VALUES ('i1', 'USER.md', '[\"w4\"]', '.USER.md.x.rollback', '{json.dumps(request)}',"
                 " 'planned', 1, '[]', '[]')", "main")  # fmt: skip
    findings = read_guardian_findings(home)
    assert findings["guardian_intents"]["sentence"].startswith("1 rollback of agent main was interrupted")
    fixed, _status = doctor(home, "--fix", OPENCLAW_WEB_WORKSPACE_WRITES="1")
    assert [repair["is_done"] for repair in fixed["run"]["repairs"]] == [True]
    assert rows(home, "SELECT state FROM rollback_intents", "main") == [("undone",)]


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE write_guardian_audit SET created_at = 'soon' WHERE id = 'w1'",
        "UPDATE file_snapshots SET content = x'00'",
        "UPDATE file_snapshots SET raw = 'text'",
        "UPDATE write_guardian_audit SET diff = x'00' WHERE id = 'w2'",
    ],
)
def test_values_of_the_wrong_type_stop_no_doctor(home, how):
    change(home, how, "main")
    assert set(read_guardian_findings(home, "--deep")) == {"guardian_types"}
