"""Losses of the store: found by counts or by record, imported again or traced.

A loss that no source contains is traced to the backup that does.
"""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.collecting.test_collect_real_homes import HOMES
from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run, run_backup
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import assert_sound, change, doctor, fill, read_tree, rows, talk
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill
home = doctor_homes.home
ONE, TWO, THREE = (f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 4))
AGENT = "main"
EVERY = """
SELECT i.session_id, i.event_id, e.kind, e.created_at, e.event_json, e.trim_json, e.full_zstd, i.parent_id
FROM transcript_event_identities i JOIN transcript_events e ON e.session_id = i.session_id AND e.seq = i.seq
ORDER BY 1, 2
"""
TURNS = "SELECT id, turn_number, user_message_content, total_tokens, is_active FROM conversation_turns ORDER BY id"


@pytest.fixture
def source(home):
    made = Home(Path(f"{home}-source"))
    fill(made)
    return made


def collect(home, *words):
    status, out, err = run(home, "collect", *words, "--json", "--quiet")
    assert status == 0, err
    return orjson.loads(out)


def read_stored(home, agent=AGENT):
    """Return records, turns and row counts that another import has to bring back."""
    counts = [rows(home, f"SELECT count(*) FROM {name}", agent) for name in ("transcript_events", "sessions")]
    return rows(home, EVERY, agent), rows(home, TURNS, agent), counts


def count_losses(receipt):
    return {(loss["session_id"], loss["kind"]): (loss["missing"], loss["different"]) for loss in receipt["losses"]}


DAMAGES = {
    "records": "DELETE FROM transcript_events WHERE rowid % 3 = 0",
    "what they are known by": "UPDATE transcript_events SET event_id = NULL WHERE rowid % 3 = 0",
    "one kind": "DELETE FROM transcript_events WHERE kind = 'tool_result'",
    "another kind": "UPDATE transcript_events SET kind = 'custom' WHERE kind = 'tool_result'",
    "whole sessions": "DELETE FROM transcript_events;"
    "DELETE FROM conversation_turns; DELETE FROM session_days; DELETE FROM sessions",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_lost_records_are_found_by_their_number_and_read_again(home, source, damage):
    collect(home)
    before = read_stored(home)
    change(home, DAMAGES[damage], AGENT)
    checked, _status = doctor(home, status=1)
    missing = sum(loss["missing"] for loss in checked["losses"])
    assert missing == checked["lost_records"] > 0 and checked["to_read"] == 0
    assert {finding["check"] for finding in checked["store"]} >= {"lost"}
    assert all(finding["is_repairable"] for finding in checked["store"] if finding["check"] == "lost")
    assert "Counted: 39 records of 3 sessions" in checked["message"]
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert fixed["read_again"]["records"] == missing and fixed["losses"] == [] and fixed["warnings"] == []
    assert read_stored(home) == before
    assert doctor(home, "--deep", status=0)[0]["losses"] == []
    again, _status = doctor(home, "--fix", status=0)
    assert again["run"] is None and read_stored(home) == before


CHANGES = {
    "a word": "UPDATE transcript_events SET event_json = replace(event_json, 'Question', 'Answer') WHERE kind = 'user'",
    "no JSON": "UPDATE transcript_events SET event_json = 'nothing' WHERE kind = 'user'",
    "tokens": "UPDATE transcript_events SET total_tokens = 1 WHERE kind = 'assistant'",
    "a parent": "UPDATE transcript_events SET parent_id = 'r77' WHERE event_id = 'r2'",
    "an id": "UPDATE transcript_events SET event_id = 'x' || event_id WHERE event_id = 'r2'",
    "the time": "UPDATE transcript_events SET created_at = created_at + 1 WHERE kind = 'user'",
}


@pytest.mark.parametrize("changed", CHANGES)
def test_a_record_that_says_something_else_is_found_by_deep(home, source, changed):
    collect(home)
    before = read_stored(home)
    change(home, CHANGES[changed], AGENT)
    checked, _status = doctor(home)
    # The number of records is right: only the checksum shows that ids differ, and not which ones.
    ids = [("ids", 1)] if changed == "an id" else []
    assert {(loss["kind"], loss["missing"]) for loss in checked["losses"]} == {*ids}
    assert "was not compared with the sources" in checked["message"]
    checked, _status = doctor(home, "--deep", status=1)
    assert checked["loss_count"] > 0 and checked["compared"]["how"] == "records"
    assert all(loss["in_sources"] == loss["missing"] + loss["different"] > 0 for loss in checked["losses"])
    assert doctor(home, "--fix", "--deep", status=0)[0]["run"]["losses"] == []
    assert read_stored(home)[:2] == before[:2]
    assert doctor(home, "--deep", status=0)[0]["losses"] == []


def test_deep_says_how_much_it_compared_and_what_no_source_has(home, source):
    collect(home)
    checked, _status = doctor(home, "--deep", status=0)
    assert checked["message"].startswith(
        "Nothing new and no problems found. Compared: 39 records in 3 sources with the stored records."
    )
    for file in sorted(source.root.glob("agents/main/sessions/*.jsonl"))[:2]:
        file.unlink()
    checked, _status = doctor(home, "--deep", status=0)
    assert (checked["compared"]["records"], checked["compared"]["kept"]) == (13, 26)


def test_an_artifact_that_is_gone_is_written_again_from_its_source(home):
    made = Home(Path(f"{home}-source"))
    made.transcript(user("List"), assistant("", ("c", "exec", {})), result("c", "a line\n" * 4_000))
    collect(home)
    blobs = list((home / "artifacts" / "blobs").rglob("*.txt*"))
    assert len(blobs) == 1
    content = blobs[0].read_bytes()
    blobs[0].unlink()
    checked, _status = doctor(home, "--deep", status=1)
    assert [(loss["kind"], loss["different"]) for loss in checked["losses"]] == [("tool_result", 1)]
    doctor(home, "--fix", "--deep")
    assert blobs[0].read_bytes() == content
    assert doctor(home, "--deep")[0]["losses"] == []


def test_a_file_that_is_gone_is_filled_again(home, source):
    """The file also gets deleted and reset sessions again that it had before."""
    source.transcript(user("Old"), session=ONE, suffix=".deleted.2026-02-21T03-07-21.630Z")
    collect(home, "--include-deleted")
    before = read_stored(home)
    for file in (home / "agents" / "main" / "agent").glob("openclaw-agent.sqlite*"):
        file.unlink()
    checked, _status = doctor(home, status=1)
    assert [finding["check"] for finding in checked["store"] if finding["level"] == "finding"] == ["registry"]
    assert checked["lost_records"] == 41
    assert not (home / "agents" / "main" / "agent" / "openclaw-agent.sqlite").exists()
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert (fixed["refilled"], fixed["losses"], fixed["warnings"]) == (["main"], [], [])
    assert read_stored(home) == before
    assert doctor(home, "--deep", status=0)[0]["findings"] == 0


def test_what_no_source_has_is_in_a_backup(home, source):
    collect(home)
    made = run_backup(home, "create")["backup"]["path"]
    gone = sorted(source.root.glob("agents/main/sessions/*.jsonl"))[0]
    session = gone.name[:36]
    gone.unlink()
    before = read_stored(home)
    change(home, f"DELETE FROM transcript_events WHERE session_id = '{session}' AND kind = 'user'", AGENT)
    fixed, _status = doctor(home, "--fix", status=1)
    done = fixed["run"]
    assert [(loss["session_id"], loss["kind"], loss["missing"], loss["where"]) for loss in done["losses"]] == [
        (session, "user", 3, made)
    ]
    (backup,) = done["backups"]
    assert backup["path"] == made != done["backup"]["path"] and backup["records"] == 3
    assert backup["command"] == f"openclaw-web backup restore {made} --replace"
    assert "Still lost: 3" in fixed["message"]
    again, _status = doctor(home, "--fix", status=1)  # now a newer backup exists, without the lost records
    assert [loss["where"] for loss in again["run"]["losses"]] == [made]
    assert doctor(home, status=1)[0]["lost_records"] == 3  # the loss is reported until the records are back
    status, _out, err = run(home, *backup["command"].split()[1:])
    assert status == 0, err
    assert read_stored(home) == before
    assert doctor(home, status=0)[0]["losses"] == []


def test_what_nobody_has_any_more_is_said_until_it_is_accepted(home, source):
    collect(home)
    gone = sorted(source.root.glob("agents/main/sessions/*.jsonl"))[0]
    session = gone.name[:36]
    gone.unlink()
    change(home, f"DELETE FROM transcript_events WHERE session_id = '{session}' AND kind = 'user'", AGENT)
    fixed, _status = doctor(home, "--fix", status=1)
    assert [loss["where"] for loss in fixed["run"]["losses"]] == [""] and fixed["run"]["backups"] == []
    ended, out, _err = run(home, "doctor", "--fix", "--quiet")
    assert ended == 1 and f"{AGENT}/{session}: user: 3 of 3 missing (in no source" in out
    assert doctor(home, "--fix", "--accept-losses", status=1)[0]["run"]["lost_records"] == 3
    assert doctor(home, status=0)[0]["losses"] == []
    assert run(home, "doctor", "--accept-losses")[0] == 2


def remove(home, how, session):
    """Remove a session on purpose."""
    if how == "undo":
        run_id = rows(home, "SELECT id FROM migration_runs ORDER BY started_at")[-1][0]
        doctor(home, "--undo", run_id, status=0)
    elif how == "opted_out":
        assert run(home, "settings", "set", "collector.optedOutSenders", '["p0", "p1", "p2"]')[0] == 0
        assert run(home, "collect", "--again")[0] == 0
    else:
        words = ["archive", "--older-than", "1d"] if how == "archive" else ["retention", "--days", "1", "--remove"]
        status, _out, err = run(home, *words, "--quiet")
        assert status == 0, err


@pytest.mark.parametrize("how", ["retention", "archive", "undo", "opted_out"])
def test_what_was_taken_out_is_no_loss_and_stays_out(home, how):
    source = Home(Path(f"{home}-source"))
    ids = fill(source)
    doctor(home, "--fix", status=0)
    remove(home, how, ids[0])
    remaining = {session_id for (session_id,) in rows(home, "SELECT id FROM sessions", AGENT)}
    assert len(remaining) < 3
    for words in ((), ("--deep",)):
        checked, _status = doctor(home, *words)
        assert checked["losses"] == [], words
    for file in (home / "agents" / "main" / "agent").glob("openclaw-agent.sqlite*"):
        file.unlink()
    doctor(home, "--fix")
    assert {session_id for (session_id,) in rows(home, "SELECT id FROM sessions", AGENT)} == remaining
    assert doctor(home, "--deep")[0]["losses"] == []


def test_sessions_that_nobody_noted_are_counted_by_the_next_fix(home, source):
    collect(home)
    change(home, "DELETE FROM collector_sessions")
    checked, _status = doctor(home)
    assert checked["compared"]["not_counted"] == 3 and checked["losses"] == []
    assert any(
        finding["check"] == "uncounted" and "not counted yet" in finding["sentence"] for finding in checked["store"]
    )
    doctor(home, "--fix", status=0)
    checked, _status = doctor(home, status=0)
    assert (checked["compared"]["not_counted"], checked["compared"]["records"]) == (0, 39)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_goes_is_found_and_had_again(home, seed):
    """Random lost and changed records are all found, and come back exactly once."""
    chance = random.Random(seed)
    source = Home(Path(f"{home}-source")) if seed % 2 else SqliteHome(Path(f"{home}-source"))
    for number, session in enumerate((ONE, TWO, THREE)):
        records = list(talk(number, turns=chance.randint(1, 4)))
        source.transcript(*records, session=session) if seed % 2 else source.session(session, *records)
    collect(home)
    before = read_stored(home)
    gone, changed = set(), set()
    with closing(sqlite3.connect(home / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as db:
        of_events = dict(db.execute("SELECT rowid, session_id || '/' || event_id FROM transcript_events"))
        for rowid in chance.sample(sorted(of_events), 5):
            db.execute("DELETE FROM transcript_events WHERE rowid = ?", (rowid,))
            gone.add(of_events[rowid])
        for rowid in chance.sample(sorted(of_events), 4):
            db.execute("UPDATE transcript_events SET event_id = NULL WHERE rowid = ?", (rowid,))
            gone.add(of_events[rowid])
        for rowid in chance.sample(sorted(of_events), 5):
            db.execute("UPDATE transcript_events SET event_json = event_json || ' ' || ? WHERE rowid = ?", ("{", rowid))
            changed.add(of_events[rowid])
        table = chance.choice(["conversation_turns", "session_days", "trajectory_events", "rejected_records"])
        db.execute(f"DELETE FROM {table}")
        db.commit()
    checked, _status = doctor(home, status=1)
    assert sum(loss["missing"] for loss in checked["losses"]) == len(gone)
    checked, _status = doctor(home, "--deep", status=1)
    assert sum(loss["missing"] for loss in checked["losses"]) == len(gone)
    assert sum(loss["different"] for loss in checked["losses"]) == len(changed - gone)
    doctor(home, "--fix", "--deep")
    assert read_stored(home)[0] == before[0] and read_stored(home)[2] == before[2]
    assert doctor(home, "--deep")[0]["losses"] == []


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize(
    "name", sorted(folder.name for folder in HOMES.glob("openclaw-2*")) if HOMES.exists() else ["none"]
)
def test_real_homes(home, name):
    """The store equals its source by record, also after losses and `--fix`.

    OpenClaw's folder stays unchanged.
    """
    source = Path(f"{home}-source")
    shutil.copytree(HOMES / name, source)
    untouched = read_tree(source)
    collect(home, "--include-deleted")
    assert assert_sound(home, "--deep", "--include-deleted")["losses"] == []
    agent = min((agent_id for (agent_id,) in read_agent_ids(home)), key=lambda name: (name != AGENT, name))
    before = read_stored(home, agent)
    change(home, DAMAGES["records"] + ";" + DAMAGES["what they are known by"] + ";" + CHANGES["tokens"], agent)
    assert doctor(home, "--deep", status=1)[0]["loss_count"] > 0
    fixed = doctor(home, "--fix", "--deep", "--include-deleted", status=0)[0]["run"]
    assert fixed["losses"] == []
    assert read_stored(home, agent) == before
    checked = assert_sound(home, "--deep", "--include-deleted")
    assert checked["compared"]["records"] == sum(count_records(home))
    assert read_tree(source) == untouched


def count_records(home):
    return [rows(home, "SELECT count(*) FROM transcript_events", agent)[0][0] for (agent,) in read_agent_ids(home)]


def read_agent_ids(home):
    return rows(home, "SELECT agent_id FROM agents")
