"""The ledger is append-only, and its chain, gaps and heads show what was changed."""

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace

import orjson
import pytest
from django.db import connections, models
from django.db.migrations.executor import MigrationExecutor

from agents import databases, services
from episodes import jobs, retention
from episodes.append import append
from episodes.chain import gaps, hashes, heads, triggers, verification
from episodes.events import Limits, WrongEvent, build_event
from episodes.models import EpisodeGap, EpisodeHead, EpisodeRun, EpisodicEvent
from episodes.redaction import Redaction, redact
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import integrity
from operations.backups import backup_reader
from operations.doctor.store import own_store
from tests import processes
from tests.episodes.chain.test_chain_properties import edit, get_names, read

pytestmark = pytest.mark.django_db
ALLOWED = Limits(allows_tool_output=True)
PREVIOUS = """SELECT chain_hash FROM episodic_events WHERE id = ?
    UNION ALL SELECT chain_after FROM episode_gaps WHERE last_id = ?"""
EVENT = {"type": "tool.call", "scope": "alpha", "session_id": "s", "agent_id": "a", "summary": "done"}
COLUMNS = [field.column for field in EpisodicEvent._meta.concrete_fields]


@pytest.fixture
def main(real_files):
    return services.register("main")


def add(agent, *names, age=0, **more):
    values = EVENT | more
    moment = clock.now_ms() - age * DAY_MS
    append(agent.db, [build_event(**values, event_id=name, ts_ms=moment, limits=ALLOWED) for name in names])


def remake_table(agent):
    """Change a column and change it back, as migrations do.

    Both times the table is created again.
    """
    field = EpisodicEvent._meta.get_field("agent_id")
    other = models.TextField(null=True)
    other.set_attributes_from_name("agent_id")
    other.model = EpisodicEvent
    for old, new in ((field, other), (other, field)):
        with connections[agent.db].schema_editor() as editor:
            editor.alter_field(EpisodicEvent, old, new, strict=True)
    connections[agent.db].close()


def find_doctor(agent, name):
    return integrity.find_check(name).rows(agent.db, is_deep=True)


def rechain(agent, first_id):
    """Compute the chain again from a row on, as a forger who knows the code can."""
    linked = ", ".join(hashes.LINKED)
    rows = f"SELECT id, {linked}, content_hash FROM episodic_events WHERE id >= ? ORDER BY id"
    with closing(sqlite3.connect(databases.get_path("main"))) as db:
        ((previous,),) = db.execute(PREVIOUS, [first_id - 1] * 2)
        events = db.execute(rows, [first_id]).fetchall()
    for row_id, *values, content_hash in events:
        previous = hashes.hash_link(previous, row_id, values, content_hash)
        edit(agent, ("UPDATE episodic_events SET chain_hash = ? WHERE id = ?", previous, row_id))


FAR = ["9223372036854775807", "'new'", *COLUMNS[2:]]  # no event could follow it
FORBIDDEN = [
    "UPDATE episodic_events SET summary = 'other' WHERE event_id = 'two'",
    "UPDATE episodic_events SET scope = 'other' WHERE event_id = 'two'",
    "UPDATE episodic_events SET redacted = 1, summary = '[REDACTED]', refs_json = NULL, payload_json = NULL",
    "UPDATE episodic_events SET redacted = 1, summary = '[REDACTED]', refs_json = NULL, salt = NULL, id = 9",
    "UPDATE OR REPLACE episodic_events SET event_id = 'one' WHERE event_id = 'two'",
    "DELETE FROM episodic_events WHERE event_id = 'two'",
    "DELETE FROM episodic_events",
    *(
        f"{verb} INTO episodic_events ({', '.join(COLUMNS)}) SELECT {', '.join(values)} FROM episodic_events LIMIT 1"
        for verb in ("INSERT", "INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE")
        for values in (COLUMNS, ["NULL", *COLUMNS[1:]], [COLUMNS[0], "'new'", *COLUMNS[2:]], FAR)
    ),
]


@pytest.mark.parametrize("is_remade", [False, True])
def test_plain_sqlite_changes_nothing_also_after_the_table_was_made_again(main, is_remade):
    add(main, "one", "two")
    if is_remade:
        remake_table(main)
        assert triggers.find_wrong(main.db)
        databases.migrate("main")
    before = read(main, "SELECT * FROM episodic_events")
    with closing(sqlite3.connect(databases.get_path("main"), isolation_level=None)) as db:
        for statement in FORBIDDEN:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute(statement)
    assert read(main, "SELECT * FROM episodic_events") == before
    add(main, "three")
    assert verification.verify(main.db).is_unchanged and not triggers.find_wrong(main.db)


def test_numbers_of_removed_events_are_not_given_again(main):
    add(main, "one", "two", age=40)
    retention.run(main, "alpha", by="otto")
    names = ", ".join(COLUMNS[2:])
    again = f"INSERT INTO episodic_events (id, event_id, {names}) SELECT 2, 'two', {names} FROM episodic_events"
    with (
        closing(sqlite3.connect(databases.get_path("main"), isolation_level=None)) as db,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        db.execute(again)
    remake_table(main)
    databases.migrate("main")
    add(main, "three")
    assert verification.verify(main.db).is_unchanged


def test_a_cut_tail_is_found_by_the_number_of_sqlite_or_by_a_head(main):
    add(main, "one", "two", "three")
    head = heads.give_out(main.db, "a file")
    edit(main, ("DELETE FROM episodic_events WHERE id = 3",))
    assert [name for name, _sentence in verification.verify(main.db).faults] == ["sqlite_sequence"]
    edit(main, ("UPDATE sqlite_sequence SET seq = 2 WHERE name = 'episodic_events'",))
    assert verification.verify(main.db).is_unchanged
    result = verification.verify(main.db, [("kept", head)])
    assert not result.is_unchanged and "last events are missing" in result.heads[0]["sentence"]


def test_a_ledger_that_was_computed_again_is_found_by_a_head_alone(main):
    add(main, "one", "two", "three")
    head = heads.give_out(main.db, "a file")
    salt = b"0" * hashes.SALT_BYTES
    content = hashes.hash_content(salt, "forged", None, None)
    values = ("UPDATE episodic_events SET summary = 'forged', salt = ?, content_hash = ? WHERE id = 2", salt, content)
    edit(main, values)
    rechain(main, 2)
    assert verification.verify(main.db).is_unchanged
    result = verification.verify(main.db, [("kept", head)])
    assert not result.is_unchanged and "another one" in result.heads[0]["sentence"]


def test_a_head_behind_a_changed_event_is_not_called_unchanged(main):
    add(main, "one", "two")
    first = heads.give_out(main.db, "a file")
    add(main, "three", "four")
    last = heads.give_out(main.db, "a file")
    edit(main, ("UPDATE episodic_events SET summary = 'other' WHERE id = 3",))
    result = verification.verify(main.db, [("first", first), ("last", last)])
    assert get_names(result) == ["three"]
    assert [entry["unchanged"] for entry in result.heads] == [True, False]


@pytest.mark.parametrize("has_run", [False, True])
def test_a_gap_that_no_run_left_is_found(main, has_run):
    if has_run:
        add(main, "old", age=40)
        retention.run(main, "alpha", by="otto")
    add(main, "one", "two", "three")
    forge_gap(main, "two")
    result = verification.verify(main.db)
    assert get_names(result) == ["gaps"]


def forge_gap(agent, name):
    """Remove an event, and add the gap that a run would have left."""
    ((row_id, after),) = read(agent, "SELECT id, chain_hash FROM episodic_events WHERE event_id = ?", name)
    ((before,),) = read(agent, "SELECT chain_hash FROM episodic_events WHERE id = ?", row_id - 1)
    edit(
        agent,
        ("DELETE FROM episodic_events WHERE id = ?", row_id),
        ("INSERT INTO episode_gaps VALUES (?, ?, 1, ?, ?)", row_id, row_id, before, after),
    )


def test_a_forged_gap_with_a_forged_run_is_found_by_an_older_head(main):
    add(main, "one", "two")
    add(main, "old", age=40)
    retention.run(main, "alpha", by="otto")
    head = heads.give_out(main.db, "a file")
    forge_gap(main, "two")
    ((row_id, salt, payload),) = read(
        main, "SELECT id, salt, payload_json FROM episodic_events WHERE session_id = 'episodes-retention'"
    )
    forged = orjson.loads(payload) | {"gaps_sha256": gaps.read_gaps_hash(main.db), "removed_count": 2}
    text = orjson.dumps(forged, option=orjson.OPT_SORT_KEYS).decode()
    ((summary,),) = read(main, "SELECT summary FROM episodic_events WHERE id = ?", row_id)
    content = hashes.hash_content(salt, summary.decode(), text, None)
    edit(main, ("UPDATE episodic_events SET payload_json = ?, content_hash = ? WHERE id = ?", text, content, row_id))
    rechain(main, row_id)
    assert verification.verify(main.db).is_unchanged
    assert not verification.verify(main.db, [("kept", head)]).is_unchanged


def test_the_session_of_retention_runs_takes_no_other_events(main):
    with pytest.raises(WrongEvent):
        add(main, "retention-forged", session_id="episodes-retention", type="ops.observation")
    assert EpisodicEvent.objects.using(main.db).count() == 0


def test_redacted_words_are_in_no_byte_after_the_table_was_made_again(main):
    add(main, "one", "two", "three", summary="saffron", payload={"text": "saffron " * 500})
    remake_table(main)
    databases.migrate("main")
    assert redact(main, Redaction.parse("alpha", session_id="s"), by="otto") == 3
    folder = databases.get_path("main").parent
    assert [file.name for file in folder.iterdir() if b"saffron" in file.read_bytes()] == []


def test_the_doctor_finds_missing_triggers_and_installs_them(main):
    add(main, "one", "two")
    with closing(sqlite3.connect(databases.get_path("main"))) as db:
        db.execute("DROP TRIGGER episodic_events_delete")
        db.execute("DROP TRIGGER episodic_events_update")
        db.execute("CREATE TRIGGER episodic_events_update BEFORE UPDATE ON episodic_events BEGIN SELECT 1; END")
        db.execute("CREATE TRIGGER other AFTER INSERT ON episodic_events BEGIN DELETE FROM episodic_events; END")
    rows = find_doctor(main, "episode_triggers")
    assert rows.first == ["episodic_events_delete", "episodic_events_update", "other"]
    assert integrity.find_check("episode_triggers").repair(main) == 3
    assert find_doctor(main, "episode_triggers").count == 0
    add(main, "three")
    assert EpisodicEvent.objects.using(main.db).count() == 3


def test_the_doctor_finds_open_runs_overlapping_gaps_and_changed_events(main):
    add(main, "one", "two", "three")
    assert [find_doctor(main, name).count for name in ("episode_runs_open", "episode_gaps", "episode_chain")] == [0] * 3
    values = {"run_id": "r", "scope": "alpha", "type": "tool.call", "before_ms": 1, "started_by": "x", "created_at": 1}
    EpisodeRun.objects.using(main.db).create(id="r1", **values)
    for first, last in ((1, 3), (2, 2)):
        EpisodeGap.objects.using(main.db).create(
            first_id=first, last_id=last, count=last - first + 1, chain_before=b"1", chain_after=b"2"
        )
    edit(main, ("UPDATE episodic_events SET type = 'ops.alert' WHERE event_id = 'two'",))
    assert find_doctor(main, "episode_runs_open").first == ["r1"]
    assert integrity.find_check("episode_runs_open").repair(main) == 1
    assert find_doctor(main, "episode_runs_open").count == 0
    assert find_doctor(main, "episode_gaps").first == ["2-2"]
    assert any(name.startswith("two (") for name in find_doctor(main, "episode_chain").first)


APPEND = """
from agents import services
from episodes.append import append
from episodes.chain import heads
from episodes.events import build_event
main = services.register("main")
values = dict(type="ops.decision", scope="alpha", session_id="s", agent_id="a", summary="done")
append(main.db, [build_event(event_id=name, **values) for name in {names!r}])
print(heads.read_head(main.db))
"""
COMPARE = """
from agents import databases
from episodes import jobs
from jobs.progress import Progress
result = jobs.verify({"agent": "main"}, Progress())
assert [head["name"].endswith(".tar.zst") for head in result["heads"]] == [True]
print(result["unchanged"], [head["unchanged"] for head in result["heads"]], sep=":")
"""


def test_a_backup_carries_the_head_of_its_copy_and_is_compared_later(tmp_path, migrated):
    home = processes.Home.copied(migrated, tmp_path / "home")
    head = home.python(APPEND.format(names=["one", "two"]))
    created = home.start("backup", "create")
    assert created.end() == 0, created.said
    (archive_file,) = (home.path / "backups").glob("*.tar.zst")
    with backup_reader.open_backup(archive_file) as archive:
        assert {entry.agent: entry.head for entry in archive.manifest.databases} == {None: None, "main": head}
        backup_id = archive.manifest.id
    file = home.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(file)) as db:
        noted = db.execute("SELECT last_id, destination FROM episode_heads").fetchall()
    assert noted == [(2, f"backup {backup_id}")]
    home.python(APPEND.format(names=["three"]))
    assert home.python(COMPARE) == "True:[True]"
    with closing(sqlite3.connect(file)) as db:  # who can write to the file removes what is in it
        db.execute("DROP TRIGGER episodic_events_update")
        db.execute("UPDATE episodic_events SET chain_hash = zeroblob(32) WHERE id = 2")
        db.execute("DELETE FROM episode_heads")
        db.commit()
    assert home.python(COMPARE) == "False:[False]"
    with closing(sqlite3.connect(file)) as db:  # a ledger with a damaged end is backed up as well
        db.execute("UPDATE episodic_events SET chain_hash = 'x'")
        db.commit()
    created = home.start("backup", "create")
    assert created.end() == 0, created.said
    home.close()


def test_the_head_of_a_copy_is_not_noted_once_a_gap_has_swallowed_it(main):
    add(main, "one", "two", "three", age=40)
    middle = heads.Head(2, hashlib.sha256(b"any").digest())
    retention.run(main, "alpha", by="otto")
    assert not heads.note_copied(main.db, middle, "backup x")
    assert not EpisodeHead.objects.using(main.db).exists()


def test_after_a_lost_end_events_are_appended_and_the_hole_is_named(main):
    add(main, "one", "two", "three")
    head = heads.give_out(main.db, "file")
    edit(main, ("DELETE FROM episodic_events WHERE event_id IN ('two', 'three')",))
    add(main, "four")
    result = verification.verify(main.db, [("file", head)])
    assert [name for name, _sentence in result.faults if not name.startswith("episodic_events")] == ["2-3"]
    assert not result.heads[0]["unchanged"]


def test_a_dropped_table_is_told_by_verification_and_keeps_the_doctor_from_nothing(main):
    """The statement of the spec's rollback, which an operator runs with the capability disabled."""
    add(main, "one")
    heads.give_out(main.db, "a file")
    with closing(sqlite3.connect(databases.get_path("main"))) as db:
        db.execute("DROP TABLE episodic_events")
    triggers.install(main.db)
    for is_deep in (False, True):
        findings = list(own_store.check_store(Progress(None), is_deep=is_deep))
        assert not [finding for finding in findings if finding.agent == "main"]
    result = jobs.verify({"agent": "main"}, Progress(None))
    words = jobs.in_words(result)
    assert words.startswith("The ledger was removed; only a backup brings it back. Heads that were given out: 1.")
    assert "a file" in words and "This head was given out before the ledger was removed." in words
    with pytest.raises(heads.DamagedLedger, match="The ledger was removed"):
        heads.read_head(main.db)


BY_HAND = """UPDATE episodic_events SET redacted = 1, summary = '[REDACTED]', payload_json = NULL, refs_json = NULL,
    salt = NULL WHERE event_id = ?"""


def test_a_redaction_by_hand_is_named_and_one_of_ours_has_an_event(main):
    add(main, "one", "two", "three")
    append(main.db, [replace(build_event(**EVENT, event_id="withheld", limits=ALLOWED), is_redacted=True)])
    redact(main, Redaction.parse("alpha", event_id="one"), by="otto")
    assert verification.verify(main.db).is_unchanged
    event = EpisodicEvent.objects.using(main.db).latest("id")
    assert (event.session_id, event.payload["redacted_ids"], event.redacted) == ("episodes-retention", [1], 0)
    assert redact(main, Redaction.parse("alpha", session_id="episodes-retention"), by="otto") == 0
    retention.run(main, "alpha", {"ops.observation": 1}, now_ms=clock.now_ms() + 9 * DAY_MS, by="otto")
    with closing(sqlite3.connect(databases.get_path("main"))) as db, db:
        db.execute(BY_HAND, ["two"])
    assert get_names(verification.verify(main.db)) == ["two"]


def test_redactions_of_before_are_counted_at_the_migration(main):
    add(main, "one", "two", "three")
    executor = MigrationExecutor(connections[main.db])
    executor.migrate([("episodes", "0001_248939ef")])
    with closing(sqlite3.connect(databases.get_path("main"))) as db, db:
        db.execute(BY_HAND, ["two"])
    connections[main.db].close()
    databases.migrate("main")
    event = EpisodicEvent.objects.using(main.db).latest("id")
    assert (event.payload, event.session_id) == ({"redacted_count": 1, "redacted_ids": [2]}, "episodes-retention")
    assert verification.verify(main.db).is_unchanged
    with closing(sqlite3.connect(databases.get_path("main"))) as db, db:
        db.execute(BY_HAND, ["three"])
    assert get_names(verification.verify(main.db)) == ["three"]


FAULTS = {
    "a trigger on the table in other letters": (
        "CREATE TRIGGER zz AFTER INSERT ON EPISODIC_EVENTS BEGIN SELECT 1; END",
        "zz",
    ),
    "a trigger on the heads": ("CREATE TRIGGER zz AFTER INSERT ON episode_heads BEGIN SELECT 1; END", "zz"),
    "a missing index": ("DROP INDEX idx_episodic_scope_ts", "idx_episodic_scope_ts"),
    "a number of SQLite": ("UPDATE sqlite_sequence SET seq = 9 WHERE name = 'episodic_events'", "sqlite_sequence"),
    "a number that is none": ("UPDATE sqlite_sequence SET seq = 'x' WHERE name = 'episodic_events'", "sqlite_sequence"),
    "a hash that is a large number": ("UPDATE episodic_events SET content_hash = 1000000000000 WHERE id = 1", "one"),
    "a salt that is a large number": ("UPDATE episodic_events SET salt = 1000000000000 WHERE id = 1", "one"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_beside_the_rows_is_named(main, fault):
    statement, name = FAULTS[fault]
    add(main, "one", "two")
    assert verification.verify(main.db).is_unchanged
    edit(main, (statement,))
    assert name in get_names(verification.verify(main.db))


def test_a_view_in_place_of_the_table_has_no_triggers(main):
    add(main, "one")
    with closing(sqlite3.connect(databases.get_path("main"))) as db:
        db.execute("ALTER TABLE episodic_events RENAME TO other")
        db.execute("CREATE VIEW episodic_events AS SELECT * FROM other")
    assert triggers.find_wrong(main.db) == sorted(triggers.TRIGGERS)


def test_a_trigger_that_drops_events_makes_appends_fail(main):
    edit(main, ("CREATE TRIGGER zz BEFORE INSERT ON episodic_events BEGIN SELECT RAISE(IGNORE); END",))
    with pytest.raises(heads.DamagedLedger):
        add(main, "one")


@pytest.mark.parametrize("value", ["x", 2**63 - 1])
def test_a_number_that_leaves_none_is_a_sentence(main, value):
    add(main, "one")
    edit(main, ("UPDATE sqlite_sequence SET seq = ? WHERE name = 'episodic_events'", value))
    with pytest.raises(heads.DamagedLedger):
        add(main, "two")


def test_damaged_rows_of_heads_are_heads_that_differ(main):
    add(main, "one")
    heads.give_out(main.db, "a file")
    edit(main, ("UPDATE episode_heads SET chain_hash = 'x'",))
    known = heads.list_known_heads(main.db, "main")
    assert not verification.verify(main.db, known).is_unchanged


def test_gaps_join_and_stop_at_heads(main):
    for number in range(9):
        add(main, f"e{number}", age=40 if number % 2 else 0, type="tool.call")
        if number == 4:
            heads.give_out(main.db, "a file")
    retention.run(main, "alpha", {"tool.call": 30}, by="otto")
    assert EpisodeGap.objects.using(main.db).count() == 4
    retention.run(main, "alpha", {"tool.call": 1}, now_ms=clock.now_ms() + 2 * DAY_MS, by="otto")
    spans = list(EpisodeGap.objects.using(main.db).order_by("first_id").values_list("first_id", "last_id", "count"))
    assert spans == [(1, 5, 5), (6, 9, 4)]
    assert verification.verify(main.db).is_unchanged


def test_a_partial_index_is_named(main):
    add(main, "one", "two")
    columns = "ON episodic_events (scope, type, ts_ms)"
    edit(
        main,
        ("DROP INDEX idx_episodic_scope_type_ts",),
        (f"CREATE INDEX idx_episodic_scope_type_ts {columns} WHERE id <> 1",),
    )
    assert "idx_episodic_scope_type_ts" in get_names(verification.verify(main.db))
