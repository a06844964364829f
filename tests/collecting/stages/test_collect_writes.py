"""Collecting writes to memory files: from write_guardian's log, from a database, and what nobody told of."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gate.models import MemoryGateDecision
from guardian.models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from guardian.recording import unattributed
from ledger.models import RejectedRecord
from people.configuration import keys as configuration
from tests.collecting.collecting import MAIN, run
from tests.collecting.plugin_log import PluginLog, written
from tests.homes import Home, assistant, user

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
T0 = 1_771_642_801_000  # 2026-02-21T03:00:01Z, the first record of a transcript
KEY = "agent:main:irc:group:#lab"
CHANNEL = "channel:irc:group:#lab"
pytestmark = pytest.mark.django_db


@pytest.fixture
def place(tmp_path, real_files):
    home = Home(tmp_path / "openclaw")
    talk = home.transcript(user("I like tea"), assistant("Noted"), user("What time is it?"), assistant("Late"))
    home.index({KEY: {"sessionId": talk.session, "updatedAt": T0}})
    (home.root / "workspace").mkdir()
    configuration.put("reflection.logFolder", str(tmp_path / "logs"))
    return home, talk, PluginLog(tmp_path / "logs").start(T0 - 5_000)


def rows(db=MAIN):
    return WriteGuardianAudit.objects.using(db).order_by("created_at", "id")


def tell(log, at=T0 + 1_500):
    """What the plugin writes about the first turn, a second after its reply."""
    log.said(T0, "user", "I like tea", CHANNEL).said(T0 + 1_000, "agent", "Noted", CHANNEL)
    return log.decided(at, "UPDATE_USER", "Likes tea.", CHANNEL)


def put(home, text, at, name="USER.md"):
    """A memory file with this content, modified at this moment."""
    file = home.root / "workspace" / name
    file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
    os.utime(file, (at / 1000, at / 1000))


def test_a_write_comes_with_its_decision_and_turn(place):
    home, talk, log = place
    tell(log)
    written(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    assert run(home)["guardian"]["writes"] == 1
    row = rows().get()
    decision = MemoryGateDecision.objects.using(MAIN).get()
    assert (row.decision_id, row.turn_id, row.match) == (decision.id, f"{talk.session}:r1", "exact")
    assert (row.session_id, row.session_key, row.origin) == (talk.session, CHANNEL, "imported")
    assert (row.status, row.target_file, row.sources, row.diff) == ("written", "USER.md", 2, None)
    assert GuardianStatus.objects.using(MAIN).get().given_by == "plugin"


def test_reading_again_adds_nothing_and_equal_lines_are_two_writes(place):
    home, _talk, _log = place
    for _ in range(2):
        written(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    assert run(home)["guardian"]["writes"] == 2
    assert run(home)["guardian"]["writes"] == 0
    written(home.root / "workspace", T0 + 9_800, "UPDATE_USER", "The user likes coffee.")
    assert run(home)["guardian"]["writes"] == 1
    assert rows().count() == 3


def test_lines_that_are_no_use_are_rejected_and_each_is_accounted_for(place):
    home, _talk, _log = place
    written(home.root / "workspace", T0, "UPDATE_USER", "Tea.")
    written(home.root / "workspace", T0 + 1, "UPDATE_USER", "Tea.", status="perhaps")
    written(home.root / "workspace", T0 + 2, "UPDATE_WORLD", "Tea.")
    file = home.root / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"
    other = {"timestamp": "2026-02-21T03:00:01Z", "decision": "UPDATE_USER", "status": "written"}
    with file.open("ab") as handle:
        handle.write(b"{half\n\xff\n")
        handle.write(json.dumps(other | {"targetFile": "../../.bashrc", "candidateFact": "x"}).encode() + b"\n")
        handle.write(b'{"timestamp": "2026')  # still being written
    told = run(home)["guardian"]
    assert (told["lines"], told["writes"], told["rejected"]) == (6, 1, 5)
    found = RejectedRecord.objects.using(MAIN).filter(file__endswith="write-guardian.log.jsonl")
    assert found.count() == 5
    assert set(found.values_list("reason", flat=True)) >= {"bad_decision", "bad_write", "not_utf8"}
    handle = file.open("ab")
    handle.write(b'-02-21T03:00:09Z", "decision": "UPDATE_USER", "status": "refused", "candidateFact": "No."}\n')
    handle.close()
    told = run(home)["guardian"]
    assert (told["writes"], told["rejected"]) == (1, 0)
    assert rows().last().status == "refused"


def test_versions_are_those_around_the_write(place):
    home, _talk, _log = place
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- likes tea\n", T0 + 60_000)
    written(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    told = run(home)["guardian"]
    assert (told["writes"], told["unattributed"]) == (1, 0)
    row = rows().get()
    assert (row.lines_added, row.is_diff_shared, row.sources) == (1, False, 10)
    assert (row.before_snapshot.content, row.after_snapshot.content) == ("# User\n", "# User\n- likes tea\n")


def test_writes_between_two_versions_share_one_diff(place):
    home, _talk, _log = place
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- tea\n- milk\n", T0 + 60_000)
    for number in range(3):
        status = "refused" if number == 1 else "written"
        written(home.root / "workspace", T0 + 40_001 + number * 10_000, "UPDATE_USER", f"Fact {number}.", status)
    assert run(home)["guardian"]["unattributed"] == 0
    first, refused, last = rows()
    assert first.after_snapshot_id == last.after_snapshot_id and first.diff == last.diff
    assert (first.is_diff_shared, last.is_diff_shared, refused.after_snapshot) == (True, True, None)


def test_what_nobody_told_of_is_a_write_of_its_own_with_its_window(place):
    home, talk, _log = place
    put(home, "# User\n", T0 - 60_000)
    assert run(home)["guardian"]["unattributed"] == 0  # the first version ever seen is no write
    assert not rows().exists()
    put(home, "# User\n- hates tea\n", T0 + 60_000)
    assert run(home)["guardian"]["unattributed"] == 1
    row = rows().get()
    assert (row.origin, row.status, row.target_file) == ("unattributed", "written", "USER.md")
    assert (row.earliest_at, row.created_at) == (T0 - 60_000, T0 + 60_000)
    assert "+- hates tea" in row.diff and row.hunks_json and row.candidate_fact is None
    turns = unattributed.turns_between(MAIN, row)
    assert [turn.id for turn in turns] == [f"{talk.session}:r3", f"{talk.session}:r1"]
    assert run(home)["guardian"]["unattributed"] == 0


def test_a_file_that_was_touched_long_after_the_last_write_was_changed_by_something_else(place):
    home, _talk, _log = place
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- tea\n- hates milk\n", T0 + 3_600_000)
    written(home.root / "workspace", T0 + 60_000, "UPDATE_USER", "Tea.")
    assert run(home)["guardian"]["unattributed"] == 1
    told, other = rows()
    assert (told.is_diff_shared, other.is_diff_shared) == (True, True)
    assert (other.origin, other.earliest_at) == ("unattributed", T0 + 60_000)


def test_a_write_that_is_told_later_takes_over_with_all_that_people_did(place):
    home, _talk, _log = place
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- tea\n", T0 + 60_000)
    run(home)
    row = rows().get()
    WriteGuardianAudit.objects.using(MAIN).filter(id=row.id).update(status="rolled_back")
    Rollback.objects.using(MAIN).create(
        id="r1",
        audit=row,
        rolled_back_at=T0 + 70_000,
        rolled_back_by="otto",
        reason="Wrong.",
        previous_status="written",
    )
    GuardianStatus.objects.using(MAIN).create(
        audit=row, status="rolled_back", given_by="otto", reason="Wrong.", created_at=T0 + 70_000
    )
    written(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    run(home)
    told = rows().get()
    assert (told.origin, told.status, told.candidate_fact) == ("imported", "rolled_back", "Tea.")
    assert told.rollback.id == "r1" and "+- tea" in told.diff
    assert list(told.statuses.order_by("created_at").values_list("status", "given_by")) == [
        ("written", "plugin"), ("rolled_back", "otto"),
    ]  # fmt: skip


def test_a_consolidation_of_the_plugin_is_named_as_one(place):
    home, _talk, log = place
    put(home, "# User\n- tea\n- tea\n", T0)
    run(home)
    put(home, "# User\n- tea\n", T0 + 60_000)
    log.line(T0, "PluginLifecycle", "Workspace resolved", {"workspaceDir": str(home.root / "workspace")})
    log.line(T0 + 40_000, "Consolidator", "Consolidation started")
    log.line(T0 + 60_010, "Consolidator", "Consolidation finished")
    run(home)
    assert rows().get().reason == "consolidation"
    put(home, "# User\n- milk\n", T0 + 4_000_000)
    run(home)
    assert rows().last().reason is None


def test_with_auditing_off_nothing_is_imported(place):
    home, _talk, _log = place
    configuration.put("writeGuardianAuditing.enabled", False)
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- tea\n", T0 + 90_000)
    written(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "Tea.")
    run(home)
    assert not rows().exists()
    configuration.put("writeGuardianAuditing.enabled", True)
    told = run(home)["guardian"]
    assert (told["writes"], told["unattributed"]) == (1, 1)


def test_without_snapshots_writes_have_no_versions_and_changes_no_rows(place):
    home, _talk, _log = place
    configuration.put("writeGuardianAuditing.storeFileSnapshots", False)
    put(home, "# User\n", T0)
    run(home)
    put(home, "# User\n- tea\n", T0 + 60_000)
    written(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    run(home)
    assert (rows().get().diff, rows().get().after_snapshot) == (None, None)
    configuration.put("writeGuardianAuditing.storeFileSnapshots", True)
    run(home)
    assert "+- tea" in rows().get().diff


def test_facts_without_a_known_person_are_withheld_while_somebody_opted_out(place):
    home, _talk, log = place
    tell(log)
    written(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    configuration.put("collector.optedOutSenders", ["bob"])
    told = run(home)["guardian"]
    assert (told["writes"], told["withheld"], told["lines"]) == (0, 1, 1)
    assert not rows().exists()
    configuration.put("collector.optedOutSenders", [])
    assert run(home)["guardian"]["writes"] == 1


def test_a_write_without_a_turn_finds_it_once_its_transcript_is_there(place):
    home, talk, log = place
    hidden = talk.path.rename(talk.path.with_suffix(".away"))
    home.transcript(user("Something else"))
    tell(log)
    written(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    run(home)
    assert rows().get().turn_id is None
    hidden.rename(talk.path)
    assert run(home)["guardian"]["matched_later"] == 1
    assert (rows().get().turn_id, rows().get().session_id) == (f"{talk.session}:r1", talk.session)


def test_the_same_write_from_log_api_and_database_is_one_row(place, as_operator):
    home, talk, log = place
    tell(log)
    workspace = home.root / "workspace"
    written(workspace, T0 + 1_800, "UPDATE_USER", "Tea.")
    run(home)
    body = {
        "id": "01PLUGIN", "turn_id": f"{talk.session}:r1", "session_id": CHANNEL, "target_file": "USER.md",
        "candidate_fact": "Tea.", "status": "written", "agent_steps": 3, "created_at": T0 + 1_790,
        "before": None, "after": "Tea.\n",
    }  # fmt: skip
    answer = as_operator.post("/api/v1/agents/main/guardian/writes", {"writes": [body]}, "application/json")
    assert (answer.status_code, answer.json()["known"]) == (200, ["01PLUGIN"])
    database(workspace, {"id": "01PLUGIN", "session_id": CHANNEL, "llm_model": "guard-1"})
    run(home)
    row = rows().get()
    assert (row.id, row.sources, row.origin) == ("01PLUGIN", 7, "recorded")
    assert (row.agent_steps, row.llm_model, row.lines_added) == (3, "guard-1", 1)
    answer = as_operator.post("/api/v1/agents/main/guardian/writes", {"writes": [body]}, "application/json")
    assert (answer.status_code, answer.json()["known"]) == (200, ["01PLUGIN"])
    run(home, again=True)
    assert rows().count() == 1


SCHEMA = """
CREATE TABLE write_guardian_audit (id TEXT PRIMARY KEY, decision_id TEXT, turn_id TEXT, session_id TEXT,
    target_file TEXT, candidate_fact TEXT, before_snapshot_id TEXT, after_snapshot_id TEXT, status TEXT, reason TEXT,
    llm_model TEXT, llm_latency_ms INTEGER, agent_steps INTEGER, created_at INTEGER);
CREATE TABLE file_snapshots (id TEXT PRIMARY KEY, file_name TEXT, content TEXT, content_hash TEXT, created_at INTEGER);
CREATE TABLE rollbacks (id TEXT PRIMARY KEY, audit_id TEXT, rolled_back_at INTEGER, rolled_back_by TEXT, reason TEXT,
    restored_snapshot_id TEXT, previous_status TEXT);
CREATE TABLE behavior_corrections (id TEXT PRIMARY KEY, audit_id TEXT, original_status TEXT,
    original_candidate_fact TEXT, original_target_file TEXT, corrected_status TEXT, corrected_candidate_fact TEXT,
    corrected_target_file TEXT, correction_reason TEXT, apply_to_future BOOLEAN, correction_pattern TEXT,
    corrected_by TEXT, corrected_at INTEGER);
"""


def database(workspace, *writes, more="", schema=SCHEMA):
    folder = workspace / ".openclaw-reflection"
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / "reflection.db")) as db, db:
        db.executescript(schema)
        for write in writes:
            told = {"target_file": "USER.md", "candidate_fact": "Tea.", "status": "written", "created_at": T0 + 1_790}
            told |= write
            sql = f"INSERT INTO write_guardian_audit ({', '.join(told)}) VALUES ({', '.join('?' * len(told))})"
            db.execute(sql, [*told.values()])
        db.executescript(more)


def test_a_database_of_the_specs_shape_is_read_with_everything_beside(place):
    home, talk, _log = place
    more = f"""
        INSERT INTO file_snapshots VALUES ('v1', 'USER.md', 'one', NULL, 1), ('v2', 'USER.md', 'one two', NULL, 2);
        INSERT INTO rollbacks VALUES ('r1', 'w2', {T0 + 9_000}, 'eve', 'Wrong.', 'v1', 'written');
        INSERT INTO behavior_corrections VALUES ('c1', 'w2', 'written', 'Tea.', 'USER.md', 'refused', NULL, NULL,
            'No drinks.', 1, 'likes', 'eve', {T0 + 9_500});
    """
    first = {"id": "w1", "turn_id": f"{talk.session}:r1", "session_id": CHANNEL, "after_snapshot_id": "v1"}
    second = {"id": "w2", "session_id": CHANNEL, "status": "rolled_back", "created_at": T0 + 5_000}
    sides = {"before_snapshot_id": "v1", "after_snapshot_id": "v2", "candidate_fact": "Coffee."}
    database(home.root / "workspace", first, second | sides, more=more)
    told = run(home)["guardian"]
    assert (told["writes"], told["rollbacks"], told["corrections"], told["rejected"]) == (2, 1, 1, 0)
    one, two = rows()
    assert (one.turn_id, one.match, one.before_snapshot, one.lines_added) == (f"{talk.session}:r1", "given", None, 1)
    assert (two.status, two.rollback.rolled_back_by, two.rollback.restored_snapshot) == (
        "rolled_back", "eve", one.after_snapshot,
    )  # fmt: skip
    assert [status.status for status in two.statuses.order_by("created_at")] == ["written", "rolled_back"]
    rule = BehaviorCorrection.objects.using(MAIN).get()
    assert (rule.correction_pattern, rule.switched_off_by) == ("likes", "import")
    assert run(home)["guardian"]["writes"] == 0


def test_columns_and_tables_of_a_database_may_be_missing(place):
    home, _talk, _log = place
    schema = (
        "CREATE TABLE write_guardian_audit (id TEXT, target_file TEXT, status TEXT, created_at INTEGER, candidate_fact)"
    )
    database(home.root / "workspace", {"id": "w1"}, schema=schema)
    assert run(home)["guardian"]["writes"] == 1
    assert rows().get().session_id is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "perhaps"},
        {"status": None},
        {"target_file": "AGENTS.md"},
        {"created_at": "soon"},
        {"id": b"\xff"},
        {"agent_steps": -1},
        {"candidate_fact": "x" * 20_001},
    ],
)
def test_rows_that_are_no_use_are_rejected_each(place, wrong):
    home, _talk, _log = place
    other = {"id": "w3", "status": "x"} if "id" in wrong else {"id": "w3"} | wrong
    database(home.root / "workspace", {"id": "w1"}, {"id": "w2", "candidate_fact": "Milk."} | wrong, other)
    told = run(home)["guardian"]
    assert (told["writes"], told["rejected"]) == (1, 2)
    assert RejectedRecord.objects.using(MAIN).filter(reason="bad_write").count() == 2


def test_a_version_with_another_hash_is_rejected_and_its_write_kept_without(place):
    home, _talk, _log = place
    more = "INSERT INTO file_snapshots VALUES ('v1', 'USER.md', 'one', 'abc', 1)"
    database(home.root / "workspace", {"id": "w1", "after_snapshot_id": "v1"}, more=more)
    told = run(home)["guardian"]
    assert (told["writes"], told["rejected"], rows().get().diff) == (1, 1, None)


def test_writes_of_a_database_go_to_the_agent_of_their_key(tmp_path, real_files):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    for agent in ("main", "research"):
        home.transcript(user("Hello"), agent=agent)
    (home.root / "workspace").mkdir()
    keys = ("agent:research:main", "agent:nobody:main", "agent:main:main")
    database(home.root / "workspace", *({"id": f"w{n}", "session_id": key, "candidate_fact": f"{n}"}
                                        for n, key in enumerate(keys)))  # fmt: skip
    run(home)
    assert [row.id for row in rows("agent_research")] == ["w0"]
    assert [(row.id, row.match, row.session_id) for row in rows()] == [
        ("w1", "none", "agent:nobody:main"), ("w2", "none", "agent:main:main"),
    ]  # fmt: skip


@pytest.mark.skipif(not DATA.exists(), reason="the recorded homes are not on this machine")
def test_the_real_logs(real_files, tmp_path):
    root = shutil.copytree(DATA / "openclaw-2026.2.26", tmp_path / "openclaw")
    shutil.copytree(
        DATA / "reflection" / "workspace" / ".openclaw-reflection", root / "workspace" / ".openclaw-reflection"
    )
    home = type("Place", (), {"root": root})
    configuration.put("reflection.logFolder", str(DATA / "reflection" / "plugin-logs-driver"))
    told = run(home)["guardian"]
    assert (told["lines"], told["writes"], told["rejected"], told["withheld"]) == (8, 8, 0, 0)
    assert [rows().filter(status=status).count() for status in ("written", "refused", "failed")] == [6, 1, 1]
    assert rows().exclude(decision_id=None).count() == 8
    assert run(home)["guardian"]["writes"] == 0
