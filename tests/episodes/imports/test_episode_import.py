"""Collecting the ledger of openclaw-mem inside a home: every row, once, by agent."""

import os
import shutil
import sqlite3
from contextlib import closing

import orjson
import pytest
from django.core.management import CommandError, call_command

from agents.databases import get_alias
from agents.models import Agent
from episodes import redaction, retention
from episodes.chain import verification
from episodes.models import EpisodicEvent
from episodes.redaction import Redaction
from ledger.collectors.database import MAX_VALUE
from ledger.models import RejectedRecord
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import count_opens, run
from tests.episodes.imports.mem_ledger import PLACE, REAL, SCHEMA, Ledger
from tests.homes import Home, user

COLUMNS = ("event_id", "ts_ms", "scope", "session_id", "agent_id", "type", "schema_version")
TEXTS = ("summary", "payload_json", "refs_json")
NONE = dict.fromkeys(("imported", "known", "expired", "redacted", "truncated", "withheld", "rejected"), 0)
pytestmark = pytest.mark.django_db


@pytest.fixture
def home(real_files, tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    home.transcript(user("Hello"))
    return home


def events(agent="main"):
    return {row.event_id: row for row in EpisodicEvent.objects.using(get_alias(agent)).order_by("id")}


def collect(home, **params):
    return run(home, **params)["episodes"]


@pytest.mark.skipif(not REAL.exists(), reason="the recorded ledger is not on this machine")
def test_the_real_ledger_is_imported_field_by_field(home):
    (home.root / "memory").mkdir()
    shutil.copyfile(REAL, home.root / PLACE)
    report = run(home)
    assert report["episodes"] == NONE | {"imported": 78, "redacted": 4} and report["rejected"] == 0
    with closing(sqlite3.connect(f"file:{REAL}?immutable=1", uri=True)) as database:
        database.row_factory = sqlite3.Row
        source_rows = database.execute("SELECT * FROM episodic_events ORDER BY id").fetchall()
    rows = events()
    assert list(rows) == [row["event_id"] for row in source_rows]
    for source_row in source_rows:
        row = rows[source_row["event_id"]]
        assert row.created_at == source_row["created_at"]
        assert [getattr(row, name) for name in COLUMNS] == [source_row[name] for name in COLUMNS]
        texts = ("[REDACTED]", None, None) if source_row["redacted"] else tuple(source_row[name] for name in TEXTS)
        assert (row.redacted, *(getattr(row, name) for name in TEXTS)) == (source_row["redacted"], *texts)
    assert collect(home) == NONE


def test_a_row_goes_to_the_agent_that_it_names_and_others_to_main(home):
    Ledger(home).add(agent_id="research").add(agent_id="Research").add(agent_id="main").add(agent_id="cron-lite")
    assert collect(home) == NONE | {"imported": 4}
    assert set(events("research")) == {"e1", "e2"} and set(events()) == {"e3", "e4"}
    assert events()["e4"].agent_id == "cron-lite"


@pytest.mark.parametrize("value", ["", "soon", 7, b"\xff", "2026-11-21T03:10:20\0"])
def test_a_time_that_is_none_is_that_of_the_import(home, value):
    Ledger(home).add(created_at=value).add(created_at="2026-11-21T03:10:20.597960+00:00")
    assert collect(home) == NONE | {"imported": 2}
    assert events()["e2"].created_at == "2026-11-21T03:10:20.597960+00:00"
    assert events()["e1"].created_at > "2026-11-21T04"
    assert verification.verify(get_alias("main")).is_unchanged


@pytest.mark.parametrize("kind", ["a link", "a folder", "not a regular file"])
def test_what_is_no_file_is_named(home, kind):
    path = home.root / PLACE
    path.parent.mkdir()
    make = {
        "a link": lambda: path.symlink_to(REAL),
        "a folder": path.mkdir,
        "not a regular file": lambda: os.mkfifo(path),
    }
    make[kind]()
    report = run(home)
    assert report["episodes"] == NONE and f"{PLACE} was not read: the path is {kind}." in report["notes"]


def test_only_new_rows_are_read(home):
    ledger = Ledger(home).add().add()
    collect(home)
    opened = count_opens(lambda: collect(home))
    assert not any(path.endswith("openclaw-mem.sqlite") for path in opened)
    ledger.add()
    assert collect(home) == NONE | {"imported": 1}
    assert collect(home, again=True) == NONE | {"known": 3}


def test_a_database_that_was_replaced_is_read_again(home):
    Ledger(home).add().add()
    collect(home)
    (home.root / PLACE).unlink()
    Ledger(home).add(event_id="other").add(event_id="e2")
    assert collect(home) == NONE | {"imported": 1, "known": 1}
    assert set(events()) == {"e1", "e2", "other"}


def test_what_was_redacted_here_does_not_come_back(home):
    ledger = Ledger(home).add(summary="the flour", payload_json='{"a":"flour"}')
    collect(home)
    agent = Agent.objects.get(agent_id="main")
    assert redaction.redact(agent, Redaction.parse("global", event_id="e1"), by="test") == 1
    ledger.add()
    assert collect(home, again=True) == NONE | {"imported": 1, "known": 1}
    row = events()["e1"]
    assert (row.summary, row.redacted) == ("[REDACTED]", 1)
    assert "flour" not in str(row.payload_json)


def test_what_retention_removed_is_not_imported_again(home):
    day = 86_400_000
    old = clock.now_ms() - 100 * day
    ledger = Ledger(home).add(type="tool.call", ts_ms=old).add(type="ops.decision", ts_ms=old)
    assert collect(home)["imported"] == 2
    retention.run(Agent.objects.get(agent_id="main"), "global", by="test")
    ledger.add(type="tool.call")
    report = collect(home, again=True)
    assert report == NONE | {"imported": 1, "known": 1, "expired": 1}
    assert {"e2", "e3"} <= set(events()) and "e1" not in events()


def test_a_redacted_row_that_still_holds_its_text_leaves_none_here(home):
    Ledger(home).add(summary="keep flour", payload_json='"[REDACTED]"', redacted=1)
    assert collect(home) == NONE | {"imported": 1, "redacted": 1}
    row = events()["e1"]
    assert (row.summary, row.payload_json, row.refs_json, row.salt) == ("[REDACTED]", None, None, None)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"type": "ops.new"}, "invalid type: ops.new"),
        ({"event_id": "two words"}, "event_id must have"),
        ({"event_id": " "}, "event_id is empty"),
        ({"payload_json": f'"{"x" * (MAX_VALUE + 1)}"'}, "too large to be read"),
        ({"scope": "///"}, "invalid scope"),
        ({"ts_ms": 0}, "ts_ms must be > 0"),
        ({"ts_ms": "soon"}, "ts_ms is str"),
        ({"payload_json": "{"}, "payload is no JSON"),
        ({"summary": b"\xff\xfe"}, "summary is not UTF-8"),
        ({"schema_version": "openclaw-mem.episodic.v9"}, "unknown schema openclaw-mem.episodic.v9"),
        ({"session_id": "episodes-retention"}, "session_id episodes-retention"),
    ],
)
def test_a_row_that_is_no_event_is_named(home, columns, reason):
    Ledger(home).add(**columns).add()
    report = run(home)
    assert report["episodes"] == NONE | {"imported": 1, "rejected": 1} and report["rejected"] == 1
    row = RejectedRecord.objects.using(get_alias("main")).get()
    assert (row.file, row.reason, row.byte_offset) == (PLACE, "bad_event", 1)
    assert reason in row.detail
    assert list(events()) == ["e2"]


def test_texts_over_the_limits_are_cut_and_counted(home):
    Ledger(home).add(payload_json=orjson.dumps({"a": "x" * 9000}).decode()).add(summary="y" * 2000)
    assert collect(home) == NONE | {"imported": 2, "truncated": 2}
    rows = events()
    payload = orjson.loads(rows["e1"].payload_json)
    assert (payload["_truncated"], payload["reason"], payload["original_bytes"]) == (True, "payload_cap", 9008)
    assert payload["preview"] == '{"a":"' + "x" * 250
    assert rows["e2"].summary == "y" * 999 + "…"


def test_many_rows_come_in_batches(home):
    ledger = Ledger(home)
    with closing(sqlite3.connect(ledger.path)) as database, database:
        for number in range(2_345):
            values = (f"n{number}", number + 1, "global", "s", "main", "ops.decision", "s", "openclaw-mem.episodic.v0")
            names = "event_id, ts_ms, scope, session_id, agent_id, type, summary, schema_version, created_at"
            database.execute(f"INSERT INTO episodic_events ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')", values)
    assert collect(home) == NONE | {"imported": 2_345}
    assert EpisodicEvent.objects.using(get_alias("main")).count() == 2_345


def test_while_somebody_is_opted_out_only_direct_conversations_of_others_are_imported(home):
    configuration.put("collector.optedOutSenders", ["bob"])
    ledger = Ledger(home).add().add(session_id="agent:main:telegram:direct:alice")
    ledger.add(session_id="agent:main:telegram:direct:bob")
    assert collect(home) == NONE | {"imported": 1, "withheld": 2}
    assert list(events()) == ["e2"]
    configuration.put("collector.optedOutSenders", [])
    assert collect(home) == NONE | {"imported": 2, "known": 1}


def test_another_version_is_told_and_missing_columns_are_rejected(home):
    Ledger(home, SCHEMA.replace("user_version = 3", "user_version = 4") + "CREATE TABLE notes (x);").add()
    report = run(home)
    assert report["episodes"] == NONE | {"imported": 1}
    assert report["databases"][PLACE]["is_newer"] and report["databases"][PLACE]["version"] == 4
    (home.root / PLACE).unlink()
    Ledger(home, "CREATE TABLE episodic_events (id INTEGER PRIMARY KEY, event_id TEXT); PRAGMA user_version = 2")
    report = run(home)
    assert report["episodes"] == NONE | {"rejected": 1, "unread_databases": 1}
    notes = " ".join(report["notes"])
    assert "episodic_events lacks ts_ms, scope" in notes and "unknown version 2" in notes


def test_a_file_that_is_no_database_is_told_and_the_rest_is_imported(home, capsys):
    home.write(PLACE, "{}" * 2_000)
    report = run(home)
    assert report["episodes"]["rejected"] == 1 and report["records"] == 2
    assert f"{PLACE} was not read" in " ".join(report["notes"])
    with pytest.raises(CommandError) as failure:
        call_command("collect", source=str(home.root))
    assert failure.value.returncode == 4 and "1 database could not be read." in capsys.readouterr().out
    row = RejectedRecord.objects.using(get_alias("main")).get()
    assert (row.file, row.reason) == (PLACE, "bad_database")


def test_an_import_of_one_agent_leaves_the_rows_of_others(home):
    Ledger(home).add().add(agent_id="research")
    run(home)
    home.transcript(user("Hi"), agent="research")
    (home.root / PLACE).unlink()
    Ledger(home).add(event_id="a").add(event_id="b", agent_id="research")
    assert collect(home, agent="research") == NONE | {"imported": 1}
    assert set(events()) == {"e1"} and set(events("research")) == {"e2", "b"}
    assert collect(home) == NONE | {"imported": 1, "known": 1}
