"""Reading a copied database: what may be read, and what SQLite refuses."""

import sqlite3
from contextlib import closing

import pytest
import zstandard

from ledger.collectors import agent_database, database_tables, zstd_input
from ledger.collectors.database import DamagedDatabase, Database
from tests.sqlite_homes import AGENT_DDL

SECRETS = ("auth", "device", "token", "secret", "oauth", "pairing", "approval", "credential", "plugin", "identity")


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "agent.sqlite"
    with closing(sqlite3.connect(file)) as store:
        store.executescript(AGENT_DDL)
        store.execute(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', 0, '{}', 1)"
        )
        store.execute("INSERT INTO auth_profile_store VALUES ('p', 'secret')")
        store.execute("CREATE VIEW flow_runs AS SELECT profile AS flow_id, store_json AS goal FROM auth_profile_store")
        store.commit()
    return file


def test_it_works(file):
    with Database(file, database_tables.AGENT) as database:
        database.check()
        assert agent_database.is_agent_database(database)
        assert list(database.rows("transcript_events", "seq", "event_json")) == [(0, b"{}")]
        assert list(database.rows("memory_index_sources", "path")) == []


def test_a_database_with_a_search_index_is_checked_without_opening_the_index(file):
    """A check by SQLite 3.44 or newer would open it, and run code on its content."""
    with closing(sqlite3.connect(file)) as store:
        store.execute("CREATE VIRTUAL TABLE memory_index_paths_fts USING fts5(path, source UNINDEXED)")
        store.execute("INSERT INTO memory_index_paths_fts VALUES ('MEMORY.md', 'memory')")
        store.commit()
        [page] = store.execute("SELECT rootpage FROM sqlite_master WHERE name = 'transcript_events'").fetchone()
        [size] = store.execute("PRAGMA page_size").fetchone()
    with Database(file, database_tables.AGENT) as database:
        database.check()
        assert list(database.rows("transcript_events", "seq")) == [(0,)]
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"garbage!" * 10)
    with pytest.raises(DamagedDatabase), Database(file, database_tables.AGENT) as database:
        database.check()


def test_a_page_that_two_tables_share_is_damage_also_beside_a_search_index(file):
    """Such a page may hold rows of a table that must not be read."""
    with closing(sqlite3.connect(file)) as store:
        store.execute("CREATE VIRTUAL TABLE memory_index_paths_fts USING fts5(path, source UNINDEXED)")
        sql = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 1)"
        store.executemany(sql, [(number, "x" * 900) for number in range(1, 40)])
        store.execute("CREATE TABLE secrets AS SELECT * FROM transcript_events")
        store.commit()
        roots = dict(store.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"))
        [size] = store.execute("PRAGMA page_size").fetchone()
    before = file.read_bytes()
    with Database(file, database_tables.AGENT) as database:
        database.check()
    assert file.read_bytes() == before
    changed = bytearray(before)
    own, foreign = (_find_first_child(before, roots[name], size) for name in ("transcript_events", "secrets"))
    changed[own : own + 4] = before[foreign : foreign + 4]
    file.write_bytes(changed)
    with Database(file, database_tables.AGENT) as database, pytest.raises(DamagedDatabase):
        database.check()


def _find_first_child(content, page, size):
    """The place of the first page number in an inner page of a tree."""
    start = (page - 1) * size
    assert content[start] in (2, 5)
    return start + int.from_bytes(content[start + 12 : start + 14])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT store_json FROM auth_profile_store",
        "SELECT navigation_json FROM transcript_events",
        "SELECT * FROM transcript_events",
        "SELECT seq FROM transcript_events WHERE event_utf8_bytes > 0",
        "SELECT goal FROM flow_runs",
        "SELECT sql FROM sqlite_master",
        "SELECT seq FROM transcript_events ORDER BY (SELECT store_json FROM auth_profile_store)",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA database_list",
        "UPDATE transcript_events SET seq = 1",
        "DELETE FROM transcript_events",
        "CREATE TABLE mine (x)",
        "SELECT hex(zeroblob(9)) FROM transcript_events",
        "SELECT seq FROM transcript_events WHERE event_json LIKE '%a%'",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
    ],
)
def test_sqlite_refuses_everything_else(file, sql):
    before = file.read_bytes()
    with Database(file, database_tables.AGENT | database_tables.STATE) as database, pytest.raises(DamagedDatabase):
        list(database.ask(sql))
    assert file.read_bytes() == before


SLOW = "instr(hex(zeroblob(200000)), hex(zeroblob(100000)) || '1')"  # minutes within one function


@pytest.mark.parametrize("name", ["flow_runs", "other", "\udcff"])
def test_a_table_with_generated_columns_counts_as_missing_and_is_never_computed(file, name):
    readable_name = name.encode(errors="surrogateescape").decode(errors="replace")
    with closing(sqlite3.connect(file)) as store:
        store.execute("DROP VIEW flow_runs")
        store.execute("CREATE TABLE made (flow_id TEXT, goal TEXT AS ('') VIRTUAL NOT NULL)")
        store.execute("INSERT INTO made VALUES ('f')")
        store.execute("PRAGMA writable_schema=ON")
        sql = f"CREATE TABLE '{name}' (flow_id TEXT, goal TEXT AS ({SLOW}) VIRTUAL NOT NULL)"
        values = [text.encode(errors="surrogateescape") for text in (name, name, sql)]
        set_ = "name = CAST(? AS TEXT), tbl_name = CAST(? AS TEXT), sql = CAST(? AS TEXT)"
        store.execute(f"UPDATE sqlite_master SET {set_} WHERE name = 'made'", values)
        store.commit()
    with Database(file, database_tables.AGENT | database_tables.STATE) as database:
        database.check()
        assert database.computed == [readable_name] and list(database.rows("flow_runs", "flow_id")) == []
        assert list(database.rows("transcript_events", "seq")) == [(0,)]
    with closing(sqlite3.connect(file)) as store:
        store.execute("PRAGMA writable_schema=ON")
        secret = "(SELECT rootpage FROM sqlite_master WHERE name = 'auth_profile_store')"
        store.execute(f"UPDATE sqlite_master SET rootpage = {secret} WHERE name = 'conversations'")
        store.commit()
    with Database(file, database_tables.AGENT) as database, pytest.raises(DamagedDatabase, match="same pages"):
        database.check()


def test_no_table_of_secrets_is_on_the_list():
    lists = (database_tables.AGENT, database_tables.STATE, database_tables.MEMORY)
    names = {name for tables in lists for name in tables} - {"transcript_event_identities"}
    assert not [name for name in names if any(word in name for word in SECRETS)]
    columns = {column for tables in lists for each in tables.values() for column in each}
    assert not columns & {"embedding", "text", "target", "owner_pid", "hmac_key", "requester_origin_json"}


def test_what_is_no_database(tmp_path):
    for content in (b"", b"SQLite format 3\x00" + b"\xff" * 4000, b"text"):
        file = tmp_path / "x.sqlite"
        file.write_bytes(content)
        try:
            with Database(file, database_tables.AGENT) as database:
                assert not agent_database.is_agent_database(database)
        except DamagedDatabase:
            continue


def test_a_record_never_unpacks_beyond_the_limit():
    bomb = zstandard.compress(b"\0" * (64 * 1024 * 1024))
    with pytest.raises(ValueError, match="over"):
        zstd_input.unpack_record(bomb)
    without_size = zstandard.ZstdCompressor(write_content_size=False).compress(b"\0" * (64 * 1024 * 1024))
    with pytest.raises(ValueError):
        zstd_input.unpack_record(without_size)


@pytest.fixture
def state_file(tmp_path):
    file = tmp_path / "state.sqlite"
    with closing(sqlite3.connect(file)) as store:
        store.execute(
            "CREATE TABLE plugin_state_entries (plugin_id TEXT NOT NULL, namespace TEXT NOT NULL,"
            " entry_key TEXT NOT NULL, value_json TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,"
            " PRIMARY KEY (plugin_id, namespace, entry_key)) STRICT"
        )
        own = "core:memory-artifact-provenance"
        rows = [(own, "workspace-files", "a", "{}"), (own, "workspace-files", "long", "x" * 70_000)]
        rows += [(own, "tokens", "b", "secret"), ("some-channel", "workspace-files", "c", "secret")]
        store.executemany("INSERT INTO plugin_state_entries VALUES (?, ?, ?, ?, 0, NULL)", rows)
        store.commit()
    return file


def test_of_the_state_of_plugins_only_provenance_records_are_read(state_file):
    with Database(state_file, database_tables.STATE, (database_tables.PROVENANCE,)) as database:
        rows = list(database.rows("memory_provenance_rows", "entry_key", "value_json"))
        assert rows == [(b"a", b"{}"), (b"long", None)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value_json FROM plugin_state_entries WHERE plugin_id = 'some-channel'",
        "SELECT plugin_id FROM plugin_state_entries",
        "SELECT value_json FROM main.plugin_state_entries WHERE namespace = 'workspace-files'",
        "SELECT rowid FROM plugin_state_entries",
        "WITH memory_provenance_rows AS (SELECT value_json v FROM plugin_state_entries)"
        " SELECT v FROM memory_provenance_rows",
        "SELECT * FROM (SELECT value_json FROM plugin_state_entries) AS memory_provenance_rows",
        "CREATE TEMP VIEW other AS SELECT value_json FROM plugin_state_entries",
        "CREATE TEMP TABLE other AS SELECT value_json FROM plugin_state_entries",
        "INSERT INTO memory_provenance_rows SELECT entry_key, value_json, NULL FROM plugin_state_entries",
        "DROP SELECT v FROM memory_provenance_rows",
    ],
)
@pytest.mark.parametrize("extracts", [(), (database_tables.PROVENANCE,)])
def test_the_row_of_another_plugin_is_refused(state_file, sql, extracts):
    with Database(state_file, database_tables.STATE, extracts) as database, pytest.raises(DamagedDatabase):
        list(database.ask(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE plugin_state_entries",
        "ALTER TABLE plugin_state_entries DROP COLUMN expires_at",
        "ALTER TABLE plugin_state_entries RENAME TO other; CREATE VIEW plugin_state_entries AS SELECT * FROM other",
        f"ALTER TABLE plugin_state_entries ADD COLUMN slow TEXT AS ({SLOW})",
        "ALTER TABLE plugin_state_entries RENAME TO memory_provenance_rows",
    ],
)
def test_a_state_of_plugins_in_another_shape_has_no_records(state_file, sql):
    with closing(sqlite3.connect(state_file)) as store:
        store.executescript(sql)
    with Database(state_file, database_tables.STATE, (database_tables.PROVENANCE,)) as database:
        assert not database.has("memory_provenance_rows")
        assert list(database.rows("memory_provenance_rows", "value_json")) == []
