"""Collecting writes to memory files from write_guardian's log or a database.

Changes that no source reports become writes, too.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian.detail import page
from guardian.files import MEMORY_FILES
from guardian.models import GuardianStatus, Rollback, WriteGuardianAudit
from ledger.models import RejectedRecord
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.plugin_log import CHANNEL, T0, log_first_turn, log_write
from tests.homes import user

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
AT = 1_795_230_978  # when the recorded log of write_guardian begins
pytestmark = pytest.mark.django_db


def rows(db=MAIN):
    return WriteGuardianAudit.objects.using(db).order_by("created_at", "id")


def write_memory_file(home, text, at, name="USER.md"):
    """Write a memory file with this content and this time of modification, in milliseconds."""
    file = home.root / "workspace" / name
    file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
    os.utime(file, (at / 1000, at / 1000))


def test_a_write_comes_with_its_decision_and_turn(place):
    home, talk, log = place
    log_first_turn(log)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    assert run(home)["guardian"]["writes"] == 1
    row = rows().get()
    decision = MemoryGateDecision.objects.using(MAIN).get()
    assert (row.decision_id, row.turn_id, row.match) == (decision.id, f"{talk.session}:r1", "exact")
    assert (row.session_id, row.session_key, row.origin) == (talk.session, CHANNEL, "imported")
    assert (row.status, row.target_file, row.sources, row.diff) == ("written", "USER.md", 2, None)
    assert GuardianStatus.objects.using(MAIN).get().given_by == "plugin"


def test_reading_again_adds_nothing_and_equal_lines_are_one_write(place):
    home, _talk, _log = place
    for _ in range(2):
        log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["lines"], counts["equal_lines"]) == (1, 2, 1)
    assert run(home)["guardian"]["writes"] == 0
    log_write(home.root / "workspace", T0 + 9_800, "UPDATE_USER", "The user likes coffee.")
    assert run(home)["guardian"]["writes"] == 1
    assert rows().count() == 2


def test_lines_that_are_no_use_are_rejected_and_each_is_accounted_for(place):
    home, _talk, _log = place
    log_write(home.root / "workspace", T0, "UPDATE_USER", "Tea.")
    log_write(home.root / "workspace", T0 + 1, "UPDATE_USER", "Tea.", status="perhaps")
    log_write(home.root / "workspace", T0 + 2, "UPDATE_WORLD", "Tea.")
    file = home.root / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"
    other = {"timestamp": "2026-02-21T03:00:01Z", "decision": "UPDATE_USER", "status": "written"}
    with file.open("ab") as handle:
        handle.write(b"{half\n\xff\n")
        handle.write(json.dumps(other | {"targetFile": "../../.bashrc", "candidateFact": "x"}).encode() + b"\n")
        handle.write(b'{"timestamp": "2026')  # still being written
    counts = run(home)["guardian"]
    assert (counts["lines"], counts["writes"], counts["rejected"]) == (6, 1, 5)
    rejected = RejectedRecord.objects.using(MAIN).filter(file__endswith="write-guardian.log.jsonl")
    assert rejected.count() == 5
    assert set(rejected.values_list("reason", flat=True)) >= {"bad_decision", "bad_write", "not_utf8"}
    handle = file.open("ab")
    handle.write(b'-02-21T03:00:09Z", "decision": "UPDATE_USER", "status": "refused", "candidateFact": "No."}\n')
    handle.close()
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["rejected"]) == (1, 0)
    assert rows().last().status == "refused"


def test_a_log_of_nothing_is_read_for_a_moment_only_and_the_import_says_so(place):
    home, _talk, _log = place
    log_write(home.root / "workspace", T0, "UPDATE_USER", "Tea.")
    file = home.root / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"
    with file.open("ab") as handle:
        handle.truncate(2 * 1024**3)
    log_write(home.root / "workspace", T0 + 60_000, "UPDATE_USER", "Milk.")
    report = run(home)
    assert report["guardian"]["writes"] == 1
    words = "Of workspace/.openclaw-reflection/write-guardian.log.jsonl only the first 64 MB were read."
    assert words in report["notes"]


def test_versions_are_those_around_the_write(place):
    home, _talk, _log = place
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- likes tea\n", T0 + 60_000)
    log_write(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["unattributed"]) == (1, 0)
    row = rows().get()
    assert (row.lines_added, row.is_diff_shared, row.sources) == (1, False, 10)
    assert (row.before_snapshot.content, row.after_snapshot.content) == ("# User\n", "# User\n- likes tea\n")


def test_writes_between_two_versions_share_one_diff(place):
    home, _talk, _log = place
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n- milk\n", T0 + 60_000)
    for number in range(3):
        status = "refused" if number == 1 else "written"
        log_write(home.root / "workspace", T0 + 40_001 + number * 10_000, "UPDATE_USER", f"Fact {number}.", status)
    assert run(home)["guardian"]["unattributed"] == 0
    first, refused, last = rows()
    assert first.after_snapshot_id == last.after_snapshot_id and first.diff == last.diff
    assert (first.is_diff_shared, last.is_diff_shared, refused.after_snapshot) == (True, True, None)


def test_what_nobody_told_of_is_a_write_of_its_own_with_its_window(place):
    home, talk, _log = place
    write_memory_file(home, "# User\n", T0 - 60_000)
    assert run(home)["guardian"]["unattributed"] == 0  # the first version ever seen is no write
    assert not rows().exists()
    write_memory_file(home, "# User\n- hates tea\n", T0 + 60_000)
    assert run(home)["guardian"]["unattributed"] == 1
    row = rows().get()
    assert (row.origin, row.status, row.target_file) == ("unattributed", "written", "USER.md")
    assert (row.earliest_at, row.created_at) == (T0 - 60_000, T0 + 60_000)
    assert "+- hates tea" in row.diff and row.hunks_json and row.candidate_fact is None
    turns = page.find_turns_in_window(Agent.objects.get(agent_id="main"), row)
    assert [turn.id for turn in turns] == [f"{talk.session}:r3", f"{talk.session}:r1"]
    assert run(home)["guardian"]["unattributed"] == 0


def test_a_file_that_was_touched_long_after_the_last_write_was_changed_by_something_else(place):
    home, _talk, _log = place
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n- hates milk\n", T0 + 3_600_000)
    log_write(home.root / "workspace", T0 + 60_000, "UPDATE_USER", "Tea.")
    assert run(home)["guardian"]["unattributed"] == 1
    reported, other = rows()
    assert (reported.is_diff_shared, other.is_diff_shared) == (True, True)
    assert (other.origin, other.earliest_at) == ("unattributed", T0 + 60_000)


def test_a_write_that_is_told_later_takes_over_with_all_that_people_did(place):
    home, _talk, _log = place
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n", T0 + 60_000)
    run(home)
    row = rows().get()
    WriteGuardianAudit.objects.using(MAIN).filter(id=row.id).update(status="rolled_back")
    fields = {"rolled_back_at": T0 + 70_000, "rolled_back_by": "otto", "reason": "Wrong.", "previous_status": "written"}
    Rollback.objects.using(MAIN).create(id="r1", audit=row, **fields)
    GuardianStatus.objects.using(MAIN).create(
        audit=row, status="rolled_back", given_by="otto", reason="Wrong.", created_at=T0 + 70_000
    )
    log_write(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    run(home)
    reported = rows().get()
    assert (reported.origin, reported.status, reported.candidate_fact) == ("imported", "rolled_back", "Tea.")
    assert reported.rollback.id == "r1" and "+- tea" in reported.diff
    assert list(reported.statuses.order_by("created_at").values_list("status", "given_by")) == [
        ("written", "plugin"), ("rolled_back", "otto"),
    ]  # fmt: skip


def test_a_consolidation_of_the_plugin_is_named_as_one(place):
    home, _talk, log = place
    write_memory_file(home, "# User\n- tea\n- tea\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n", T0 + 60_000)
    log.line(T0, "PluginLifecycle", "Workspace resolved", {"workspaceDir": str(home.root / "workspace")})
    log.line(T0 + 40_000, "Consolidator", "Consolidation started")
    log.line(T0 + 60_010, "Consolidator", "Consolidation finished")
    run(home)
    assert rows().get().reason == "consolidation"
    write_memory_file(home, "# User\n- milk\n", T0 + 4_000_000)
    run(home)
    assert rows().last().reason is None


def test_with_auditing_off_nothing_is_imported(place):
    home, _talk, _log = place
    configuration.put("writeGuardianAuditing.enabled", False)
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n", T0 + 90_000)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "Tea.")
    run(home)
    assert not rows().exists()
    configuration.put("writeGuardianAuditing.enabled", True)
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["unattributed"]) == (1, 1)


def test_without_snapshots_writes_have_no_versions_and_changes_no_rows(place):
    home, _talk, _log = place
    configuration.put("writeGuardianAuditing.storeFileSnapshots", False)
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n", T0 + 60_000)
    log_write(home.root / "workspace", T0 + 60_001, "UPDATE_USER", "Tea.")
    run(home)
    assert (rows().get().diff, rows().get().after_snapshot) == (None, None)
    configuration.put("writeGuardianAuditing.storeFileSnapshots", True)
    run(home)
    assert "+- tea" in rows().get().diff


def test_facts_without_a_known_person_are_withheld_while_somebody_opted_out(place):
    home, _talk, log = place
    log_first_turn(log)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    configuration.put("collector.optedOutSenders", ["bob"])
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["withheld"], counts["lines"]) == (0, 1, 1)
    assert not rows().exists()
    configuration.put("collector.optedOutSenders", [])
    assert run(home)["guardian"]["writes"] == 1


def test_the_log_of_a_workspace_that_no_agent_has_is_shown_with_the_default_agent(place):
    home, _talk, _log = place
    write_memory_file(home, "# User\n", T0)
    run(home)
    write_memory_file(home, "# User\n- tea\n", T0 + 60_000)
    log_write(home.root / "workspace-gone", T0 + 60_001, "UPDATE_USER", "Milk.")
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["unattributed"]) == (1, 1)
    elsewhere = rows().get(origin="imported")
    assert (elsewhere.match, elsewhere.session_id, elsewhere.diff, elsewhere.sources) == ("none", None, None, 2 + 32)
    assert run(home)["guardian"]["writes"] == 0


def test_a_write_without_a_turn_finds_it_once_its_transcript_is_there(place):
    home, talk, log = place
    hidden = talk.path.rename(talk.path.with_suffix(".away"))
    home.transcript(user("Something else"))
    log_first_turn(log)
    log_write(home.root / "workspace", T0 + 1_800, "UPDATE_USER", "The user likes tea.")
    run(home)
    assert rows().get().turn_id is None
    hidden.rename(talk.path)
    assert run(home)["guardian"]["matched_later"] == 1
    assert (rows().get().turn_id, rows().get().session_id) == (f"{talk.session}:r1", talk.session)


@pytest.mark.skipif(not DATA.exists(), reason="the recorded homes are not on this machine")
def test_the_real_logs(real_files, tmp_path):
    root = shutil.copytree(DATA / "openclaw-2026.2.26", tmp_path / "openclaw")
    shutil.copytree(
        DATA / "reflection" / "workspace" / ".openclaw-reflection", root / "workspace" / ".openclaw-reflection"
    )
    home = type("Place", (), {"root": root})
    for name in MEMORY_FILES:
        os.utime(root / "workspace" / name, (AT - 3_600, AT - 3_600))
    logs = shutil.copytree(DATA / "reflection" / "plugin-logs-driver", tmp_path / "logs")
    (log,) = logs.glob("reflection-*.log")  # it names another workspace, which is replaced by that of this home
    log.write_text(log.read_text().replace("/srv/oc/refl-ws", "/srv/oc/home-old/.openclaw/workspace"))
    configuration.put("reflection.logFolder", str(logs))
    counts = run(home)["guardian"]
    assert (counts["lines"], counts["writes"], counts["rejected"], counts["withheld"]) == (8, 8, 0, 0)
    assert [rows().filter(status=status).count() for status in ("written", "refused", "failed")] == [6, 1, 1]
    assert rows().exclude(decision_id=None).count() == 8
    for name in MEMORY_FILES:  # the files as the plugin left them, with the time of its last write to each
        file = shutil.copy(DATA / "reflection" / "workspace" / name, root / "workspace" / name)
        last = rows().filter(target_file=name, status="written").latest("created_at").created_at / 1000
        os.utime(file, (last, last))
    counts = run(home)["guardian"]
    assert (counts["writes"], counts["unattributed"]) == (0, 0)
    assert [row.is_diff_shared for row in rows().filter(target_file="USER.md").exclude(diff=None)] == [True, True]
    assert rows().exclude(diff=None).count() == 6
    assert run(home)["guardian"] == dict.fromkeys(counts, 0)
