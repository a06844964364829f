"""The doctor counts, compares and restores what openclaw-mem's ledger holds."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from openclaw_web import clock
from tests.episodes.imports.mem_ledger import PLACE, REAL, Ledger
from tests.homes import user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, rows

pytestmark = pytest.mark.kill
home, source = doctor_homes.home, doctor_homes.source
DAY_MS = 86_400_000


@pytest.fixture
def ledger(source):
    for agent in source.agents:
        source.transcript(user("Hello"), agent=agent)
    return Ledger(source)


def find_source(receipt):
    return next(entry for entry in receipt["sources"] if entry["path"] == PLACE)


def find_lost(receipt):
    return [(row["agent"], *row["key"]) for row in receipt["rows"] if row["table"] == "episodic_events"]


def is_skipped(receipt):
    return PLACE in {place["path"] for place in receipt["skipped"] if not place["table"]}


def read_ids(home, agent="main"):
    return {event_id for (event_id,) in rows(home, "SELECT event_id FROM episodic_events", agent)}


def lose(home, event_id, agent="main"):
    """Remove an event as only somebody with the file can."""
    trigger = "SELECT sql FROM sqlite_master WHERE name = 'episodic_events_delete'"
    ((sql,),) = rows(home, trigger, agent)
    drop = f"DROP TRIGGER episodic_events_delete; DELETE FROM episodic_events WHERE event_id = '{event_id}';"
    change(home, f"{drop} {sql};", agent)


@pytest.mark.skipif(not REAL.exists(), reason="the recorded ledger is not on this machine")
def test_the_real_ledger_is_counted_imported_and_compared(home, source):
    source.transcript(user("Hello"))
    (source.root / "memory").mkdir()
    shutil.copyfile(REAL, source.root / PLACE)
    looked, _status = doctor(home, status=1)
    entry = find_source(looked)
    facts = {"kind": "database", "target": "episodic_events", "state": "new", "records": 78, "agent": "", "rejected": 0}
    assert {name: entry[name] for name in facts} == facts
    assert (entry["version"], entry["new"], entry["problem"]) == ("3", {"episodic_events": 78}, "")
    assert not is_skipped(looked)
    fixed, _status = doctor(home, "--fix", status=0)
    assert not fixed["run"]["warnings"] and len(read_ids(home)) == 78
    for words in ([], ["--deep"]):
        again, _status = doctor(home, *words, status=0)
        assert find_source(again)["state"] == "unchanged" and again["to_read"] == 0 and not find_lost(again)


def test_new_rows_are_counted_by_the_agent_that_gets_them(home, ledger):
    ledger.add().add(agent_id="research").add(type="ops.new")
    doctor(home, "--fix")
    assert (read_ids(home), read_ids(home, "research")) == ({"e1"}, {"e2"})
    ledger.add(agent_id="Research").add(agent_id="nobody").add(summary=b"\xff")
    looked, _status = doctor(home, status=1)
    entry = find_source(looked)
    assert (entry["state"], entry["records"], entry["rejected"]) == ("changed", 2, 1)
    assert [(line["file"], line["offset"], line["reason"], line["detail"]) for line in looked["rejected"]] == [
        (PLACE, 6, "bad_event", "summary is not UTF-8")
    ]  # row 3 was rejected by the import before
    doctor(home, "--fix")
    assert (read_ids(home), read_ids(home, "research")) == ({"e1", "e5"}, {"e2", "e4"})
    again, _status = doctor(home, "--deep")
    assert find_source(again)["state"] == "unchanged" and again["rejected"] == [] and not find_lost(again)


def test_a_deep_look_finds_lost_events_and_fix_brings_them_back(home, ledger):
    for agent in ("main", "research"):
        ledger.add(agent_id=agent).add(agent_id=agent).add(agent_id=agent)
    doctor(home, "--fix", status=0)
    lose(home, "e2")
    lose(home, "e5", "research")
    looked, _status = doctor(home)
    assert find_source(looked)["state"] == "unchanged" and not find_lost(looked)
    looked, _status = doctor(home, "--deep", status=1)
    assert find_lost(looked) == [("main", "e2"), ("research", "e5")]
    assert find_source(looked)["records"] == 0
    doctor(home, "--fix", "--deep")
    assert (read_ids(home), read_ids(home, "research")) == ({"e1", "e2", "e3"}, {"e4", "e5", "e6"})
    again, _status = doctor(home, "--deep")
    assert find_source(again)["state"] == "unchanged" and not find_lost(again)


def test_what_retention_removed_or_an_opt_out_withholds_is_neither_new_nor_lost(home, ledger):
    old = clock.now_ms() - 100 * DAY_MS
    ledger.add(type="tool.call", ts_ms=old).add().add(session_id="agent:main:telegram:direct:alice")
    doctor(home, "--fix", status=0)
    assert run(home, "episodes", "gc", "--scope", "global", "--agent", "main")[0] == 0
    assert "e1" not in read_ids(home)
    ledger.add(type="tool.call", ts_ms=old).add()
    looked, _status = doctor(home, "--deep", status=1)
    assert find_source(looked)["records"] == 1 and not find_lost(looked)
    assert run(home, "settings", "set", "collector.optedOutSenders", '["bob"]')[0] == 0
    ledger.add(session_id="agent:main:telegram:direct:bob").add(session_id="agent:main:telegram:direct:alice")
    looked, _status = doctor(home, "--deep", status=1)
    assert find_source(looked)["records"] == 1 and not find_lost(looked)
    fixed, _status = doctor(home, "--fix", status=0)
    assert not fixed["run"]["warnings"] and {"e3", "e7"} <= read_ids(home) and "e6" not in read_ids(home)
    again, _status = doctor(home, "--deep", status=0)
    assert find_source(again)["state"] == "unchanged" and not find_lost(again)


def test_without_the_capability_the_file_is_named_as_skipped(home, ledger):
    ledger.add()
    looked, _status = doctor(home, OPENCLAW_WEB_DISABLED="episodes")
    assert is_skipped(looked) and PLACE not in {entry["path"] for entry in looked["sources"]}
    looked, _status = doctor(home)
    assert not is_skipped(looked) and find_source(looked)["records"] == 1


def test_an_import_of_one_agent_does_not_make_a_known_ledger_new(home, ledger):
    ledger.add().add(agent_id="research")
    doctor(home, "--fix", status=0)
    assert run(home, "collect", "--agent", "main", "--again")[0] == 0
    looked, _status = doctor(home, status=0)
    assert find_source(looked)["state"] == "unchanged"


def test_a_ledger_that_cannot_be_read_says_why(home, ledger):
    ledger.add()
    with closing(sqlite3.connect(ledger.path)) as database:
        database.execute("ALTER TABLE episodic_events DROP COLUMN ts_ms")
    looked, _status = doctor(home, status=1)
    why = "episodic_events lacks ts_ms"
    assert find_source(looked)["problem"] == why
    assert [(line["file"], line["reason"], line["detail"]) for line in looked["rejected"]] == [
        (PLACE, "bad_database", why)
    ]
    ledger.path.write_text("{}" * 2_000)
    looked, _status = doctor(home, status=1)
    assert [(line["file"], line["reason"]) for line in looked["rejected"]] == [(PLACE, "bad_database")]
