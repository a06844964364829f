"""What the store has lost: found by counts, compared record by record, read again, or named with its backup."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.collecting.test_collect_real_homes import HOMES
from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import receipt, run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import assert_sound, change, doctor, fill, picture, rows, talk
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


def held(home, agent=AGENT):
    """Everything of records and turns that reading them again has to bring back, and how many rows there are."""
    counts = [rows(home, f"SELECT count(*) FROM {name}", agent) for name in ("transcript_events", "sessions")]
    return rows(home, EVERY, agent), rows(home, TURNS, agent), counts


def lost(found):
    return {(one["session_id"], one["kind"]): (one["missing"], one["different"]) for one in found["losses"]}


DAMAGES = {
    "records": "DELETE FROM transcript_events WHERE rowid % 3 = 0",
    "what they are known by": "DELETE FROM transcript_event_identities WHERE rowid % 3 = 0",
    "one kind": "DELETE FROM transcript_events WHERE kind = 'tool_result'",
    "another kind": "UPDATE transcript_events SET kind = 'custom' WHERE kind = 'tool_result'",
    "whole sessions": "DELETE FROM transcript_events; DELETE FROM transcript_event_identities;"
    "DELETE FROM conversation_turns; DELETE FROM session_days; DELETE FROM sessions",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_lost_records_are_found_by_their_number_and_read_again(home, source, damage):
    collect(home)
    before = held(home)
    change(home, DAMAGES[damage], AGENT)
    found, _status = doctor(home, status=1)
    missing = sum(one["missing"] for one in found["losses"])
    assert missing == found["lost_records"] > 0 and found["to_read"] == 0
    assert {one["check"] for one in found["store"]} >= {"lost"}
    assert all(one["is_repairable"] for one in found["store"] if one["check"] == "lost")
    assert "Counted: 39 records of 3 sessions" in found["message"]
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert fixed["read_again"]["records"] == missing and fixed["losses"] == [] and fixed["warnings"] == []
    assert held(home) == before
    assert doctor(home, "--deep", status=0)[0]["losses"] == []
    again, _status = doctor(home, "--fix", status=0)
    assert again["run"] is None and held(home) == before


CHANGES = {
    "a word": "UPDATE transcript_events SET event_json = replace(event_json, 'Question', 'Answer') WHERE kind = 'user'",
    "no JSON": "UPDATE transcript_events SET event_json = 'nothing' WHERE kind = 'user'",
    "tokens": "UPDATE transcript_events SET total_tokens = 1 WHERE kind = 'assistant'",
    "a parent": "UPDATE transcript_event_identities SET parent_id = 'r77' WHERE event_id = 'r2'",
    "an id": "UPDATE transcript_event_identities SET event_id = 'x' || event_id WHERE event_id = 'r2'",
    "the time": "UPDATE transcript_events SET created_at = created_at + 1 WHERE kind = 'user'",
}


@pytest.mark.parametrize("changed", CHANGES)
def test_a_record_that_says_something_else_is_found_by_deep(home, source, changed):
    collect(home)
    before = held(home)
    change(home, CHANGES[changed], AGENT)
    found, _status = doctor(home)
    # As many records and others: the checksum of their ids tells that, and not which.
    ids = [("ids", 1)] if changed == "an id" else []
    assert {(one["kind"], one["missing"]) for one in found["losses"]} == {*ids}
    assert "was not compared with the sources" in found["message"]
    found, _status = doctor(home, "--deep", status=1)
    assert found["loss_count"] > 0 and found["compared"]["how"] == "records"
    assert all(one["in_sources"] == one["missing"] + one["different"] > 0 for one in found["losses"])
    assert doctor(home, "--fix", "--deep", status=0)[0]["run"]["losses"] == []
    assert held(home)[:2] == before[:2]
    assert doctor(home, "--deep", status=0)[0]["losses"] == []


def test_deep_says_how_much_it_compared_and_what_no_source_has(home, source):
    collect(home)
    found, _status = doctor(home, "--deep", status=0)
    assert found["message"].startswith(
        "Nothing new and no problems found. Compared: 39 records in 3 sources with the stored records."
    )
    for file in sorted(source.root.glob("agents/main/sessions/*.jsonl"))[:2]:
        file.unlink()
    found, _status = doctor(home, "--deep", status=0)
    assert (found["compared"]["records"], found["compared"]["kept"]) == (13, 26)


def test_an_artifact_that_is_gone_is_written_again_from_its_source(home):
    made = Home(Path(f"{home}-source"))
    made.transcript(user("List"), assistant("", ("c", "exec", {})), result("c", "a line\n" * 4_000))
    collect(home)
    blobs = list((home / "artifacts" / "blobs").rglob("*.txt*"))
    assert len(blobs) == 1
    content = blobs[0].read_bytes()
    blobs[0].unlink()
    found, _status = doctor(home, "--deep", status=1)
    assert [(one["kind"], one["different"]) for one in found["losses"]] == [("tool_result", 1)]
    doctor(home, "--fix", "--deep")
    assert blobs[0].read_bytes() == content
    assert doctor(home, "--deep")[0]["losses"] == []


def test_a_file_that_is_gone_is_filled_again(home, source):
    """Also with what was deleted or reset since: it had been here."""
    source.transcript(user("Old"), session=ONE, suffix=".deleted.2026-02-21T03-07-21.630Z")
    collect(home, "--include-deleted")
    before = held(home)
    for file in (home / "agents" / "main" / "agent").glob("openclaw-agent.sqlite*"):
        file.unlink()
    found, _status = doctor(home, status=1)
    assert [one["check"] for one in found["store"] if one["level"] == "finding"] == ["registry"]
    assert found["lost_records"] == 41
    assert not (home / "agents" / "main" / "agent" / "openclaw-agent.sqlite").exists()
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert (fixed["refilled"], fixed["losses"], fixed["warnings"]) == (["main"], [], [])
    assert held(home) == before
    assert doctor(home, "--deep", status=0)[0]["findings"] == 0


def test_what_no_source_has_is_in_a_backup(home, source):
    collect(home)
    made = receipt(home, "create")["backup"]["path"]
    gone = sorted(source.root.glob("agents/main/sessions/*.jsonl"))[0]
    session = gone.name[:36]
    gone.unlink()
    before = held(home)
    change(home, f"DELETE FROM transcript_events WHERE session_id = '{session}' AND kind = 'user'", AGENT)
    fixed, _status = doctor(home, "--fix", status=1)
    done = fixed["run"]
    assert [(one["session_id"], one["kind"], one["missing"], one["where"]) for one in done["losses"]] == [
        (session, "user", 3, made)
    ]
    (backup,) = done["backups"]
    assert backup["path"] == made != done["backup"]["path"] and backup["records"] == 3
    assert backup["command"] == f"openclaw-web backup restore {made} --replace"
    assert "Still lost: 3" in fixed["message"]
    again, _status = doctor(home, "--fix", status=1)  # now there is a newer backup of the loss
    assert [one["where"] for one in again["run"]["losses"]] == [made]
    assert doctor(home, status=1)[0]["lost_records"] == 3  # it is said until it is back
    status, _out, err = run(home, *backup["command"].split()[1:])
    assert status == 0, err
    assert held(home) == before
    assert doctor(home, status=0)[0]["losses"] == []


def test_what_nobody_has_any_more_is_said_until_it_is_accepted(home, source):
    collect(home)
    gone = sorted(source.root.glob("agents/main/sessions/*.jsonl"))[0]
    session = gone.name[:36]
    gone.unlink()
    change(home, f"DELETE FROM transcript_events WHERE session_id = '{session}' AND kind = 'user'", AGENT)
    fixed, _status = doctor(home, "--fix", status=1)
    assert [one["where"] for one in fixed["run"]["losses"]] == [""] and fixed["run"]["backups"] == []
    ended, out, _err = run(home, "doctor", "--fix", "--quiet")
    assert ended == 1 and f"{AGENT}/{session}: user: 3 of 3 missing (in no source" in out
    assert doctor(home, "--fix", "--accept-losses", status=1)[0]["run"]["lost_records"] == 3
    assert doctor(home, status=0)[0]["losses"] == []
    assert run(home, "doctor", "--accept-losses")[0] == 2


def remove(home, how, session):
    """Take a session out on purpose."""
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
    left = {one for (one,) in rows(home, "SELECT id FROM sessions", AGENT)}
    assert len(left) < 3
    for words in ((), ("--deep",)):
        found, _status = doctor(home, *words)
        assert found["losses"] == [], words
    for file in (home / "agents" / "main" / "agent").glob("openclaw-agent.sqlite*"):
        file.unlink()
    doctor(home, "--fix")
    assert {one for (one,) in rows(home, "SELECT id FROM sessions", AGENT)} == left
    assert doctor(home, "--deep")[0]["losses"] == []


def test_sessions_that_nobody_noted_are_counted_by_the_next_fix(home, source):
    collect(home)
    change(home, "DELETE FROM collector_sessions")
    found, _status = doctor(home)
    assert found["compared"]["not_counted"] == 3 and found["losses"] == []
    assert any(one["check"] == "uncounted" and "not counted yet" in one["sentence"] for one in found["store"])
    doctor(home, "--fix", status=0)
    found, _status = doctor(home, status=0)
    assert (found["compared"]["not_counted"], found["compared"]["records"]) == (0, 39)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_goes_is_found_and_had_again(home, seed):
    """Random rows of random tables, deleted or changed: each lost or changed record is found, and comes back once."""
    chance = random.Random(seed)
    source = Home(Path(f"{home}-source")) if seed % 2 else SqliteHome(Path(f"{home}-source"))
    for number, one in enumerate((ONE, TWO, THREE)):
        records = list(talk(number, turns=chance.randint(1, 4)))
        source.transcript(*records, session=one) if seed % 2 else source.session(one, *records)
    collect(home)
    before = held(home)
    gone, changed = set(), set()
    with closing(sqlite3.connect(home / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as db:
        ids = dict(db.execute("SELECT rowid, session_id || '/' || event_id FROM transcript_event_identities"))
        of_events = dict(
            db.execute(
                "SELECT e.rowid, i.session_id || '/' || i.event_id FROM transcript_events e"
                " JOIN transcript_event_identities i ON i.session_id = e.session_id AND i.seq = e.seq"
            )
        )
        for rowid in chance.sample(sorted(of_events), 5):
            db.execute("DELETE FROM transcript_events WHERE rowid = ?", (rowid,))
            gone.add(of_events[rowid])
        for rowid in chance.sample(sorted(ids), 4):
            db.execute("DELETE FROM transcript_event_identities WHERE rowid = ?", (rowid,))
            gone.add(ids[rowid])
        for rowid in chance.sample(sorted(of_events), 5):
            db.execute("UPDATE transcript_events SET event_json = event_json || ' ' || ? WHERE rowid = ?", ("{", rowid))
            changed.add(of_events[rowid])
        table = chance.choice(["conversation_turns", "session_days", "trajectory_events", "rejected_records"])
        db.execute(f"DELETE FROM {table}")
        db.commit()
    found, _status = doctor(home, status=1)
    assert sum(one["missing"] for one in found["losses"]) == len(gone)
    found, _status = doctor(home, "--deep", status=1)
    assert sum(one["missing"] for one in found["losses"]) == len(gone)
    assert sum(one["different"] for one in found["losses"]) == len(changed - gone)
    doctor(home, "--fix", "--deep")
    assert held(home)[0] == before[0] and held(home)[2] == before[2]
    assert doctor(home, "--deep")[0]["losses"] == []


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize("name", sorted(one.name for one in HOMES.glob("openclaw-2*")) if HOMES.exists() else ["none"])
def test_real_homes(home, name):
    """Store equals source by record, after loss and `--fix` too; and OpenClaw folder is as it was."""
    source = Path(f"{home}-source")
    shutil.copytree(HOMES / name, source)
    untouched = picture(source)
    collect(home, "--include-deleted")
    assert assert_sound(home, "--deep", "--include-deleted")["losses"] == []
    agent = min((one for (one,) in agents(home)), key=lambda name: (name != AGENT, name))
    before = held(home, agent)
    change(home, DAMAGES["records"] + ";" + DAMAGES["what they are known by"] + ";" + CHANGES["tokens"], agent)
    assert doctor(home, "--deep", status=1)[0]["loss_count"] > 0
    fixed = doctor(home, "--fix", "--deep", "--include-deleted", status=0)[0]["run"]
    assert fixed["losses"] == []
    assert held(home, agent) == before
    found = assert_sound(home, "--deep", "--include-deleted")
    assert found["compared"]["records"] == sum(found_records(home))
    assert picture(source) == untouched


def found_records(home):
    return [rows(home, "SELECT count(*) FROM transcript_events", agent)[0][0] for (agent,) in agents(home)]


def agents(home):
    return rows(home, "SELECT agent_id FROM agents")
