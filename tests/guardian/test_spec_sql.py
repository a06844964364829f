"""The tables of write_guardian as in the Reflection spec, read with plain sqlite3.

The statements of the spec are run as well.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import IntegrityError, connections, transaction

from agents import databases, services
from guardian.models import BehaviorCorrection, FileSnapshot, Rollback, WriteGuardianAudit
from tests.factories import T0
from tests.guardian.write_rows import create_write

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
pytestmark = pytest.mark.django_db
TABLES = {
    "file_snapshots": {"id", "file_name", "content", "content_hash", "created_at"},
    "write_guardian_audit": {
        *("id", "decision_id", "turn_id", "session_id", "target_file", "candidate_fact", "before_snapshot_id"),
        *("after_snapshot_id", "diff", "lines_added", "lines_removed", "lines_modified", "status", "reason"),
        *("llm_model", "llm_latency_ms", "agent_steps", "created_at"),
    },
    "rollbacks": {
        *("id", "audit_id", "rolled_back_at", "rolled_back_by", "reason", "restored_snapshot_id", "previous_status"),
    },
    "behavior_corrections": {
        *("id", "audit_id", "original_status", "original_candidate_fact", "original_target_file", "corrected_status"),
        *("corrected_candidate_fact", "corrected_target_file", "correction_reason", "apply_to_future"),
        *("correction_pattern", "corrected_by", "corrected_at"),
    },
}
# Columns that the spec requires and that may be empty here: for imported and unannounced changes, and new files.
MENDED = {
    "write_guardian_audit": {"decision_id", "turn_id", "session_id", "target_file", "candidate_fact"},
    "rollbacks": {"restored_snapshot_id"},
}
in_spec = pytest.mark.skipif(not SEEDS.exists(), reason="the specs are not on this machine")


@pytest.fixture
def file(real_files):
    """The file of an agent with a write, its rollback and its correction."""
    agent = services.register("main")
    audit = create_write(agent.db, 1, b"# Facts\n", b"# Facts\n- tea\n", decision_id="d1", turn_id="t1")
    Rollback.objects.using(agent.db).create(
        id="r1", audit=audit, rolled_back_at=T0, rolled_back_by="otto", reason="Wrong.",
        restored_snapshot=audit.before_snapshot, previous_status="written",
    )  # fmt: skip
    BehaviorCorrection.objects.using(agent.db).create(
        id="c1", audit=audit, original_status="written", corrected_status="refused", correction_reason="No fact.",
        apply_to_future=True, corrected_by="otto", corrected_at=T0,
    )  # fmt: skip
    connections[agent.db].close()
    return databases.get_path("main")


def spec():
    return next(SEEDS.glob("002_*.txt")).read_text("utf-8")


def statements():
    """Return the statements that create the tables of REQ-003, by table.

    Indexes inside of a table are left out: SQLite knows no such syntax.
    """
    text = spec()
    part = text[text.index("REQ-003: write_guardian") :]
    statements_by_table = {}
    for table in TABLES:
        start = part.index(f"CREATE TABLE {table} (")
        lines = part[start : part.index("\n);", start)].splitlines()
        statement_lines = [line.partition("--")[0].rstrip() for line in lines if not line.strip().startswith("INDEX ")]
        statements_by_table[table] = "\n".join(statement_lines).rstrip().rstrip(",") + "\n)"
    return statements_by_table


def columns(db, table):
    """Return each column with its type as SQLite means it, and whether it is required."""
    rows = db.execute(f"PRAGMA table_info({table})").fetchall()
    kinds = {"varchar": "text", "bigint": "integer", "bool": "boolean"}
    return {
        name: (kinds.get(kind.lower(), kind.lower()), bool(required or key))
        for _n, name, kind, required, _d, key in rows
    }


@in_spec
def test_the_tables_are_those_of_the_spec(file):
    """The statements of the spec are run without their indexes; ours may have more columns."""
    with closing(sqlite3.connect(":memory:")) as spec_db, closing(sqlite3.connect(file)) as own_db:
        for table, statement in statements().items():
            spec_db.execute(statement)
            spec_columns, own_columns = columns(spec_db, table), columns(own_db, table)
            assert spec_columns.keys() == TABLES[table]
            for name, (kind, is_required) in spec_columns.items():
                assert own_columns[name][0] == kind, (table, name)
                assert own_columns[name][1] or not is_required or name in MENDED.get(table, ()), (table, name)
            links = {(row[2], row[3], row[4]) for row in own_db.execute(f"PRAGMA foreign_key_list({table})")}
            named = re.findall(r"FOREIGN KEY \((\w+)\) REFERENCES (\w+)\((\w+)\)", statement)
            inside = {(table, column, key) for column, table, key in named if table in TABLES}
            assert inside <= links  # turns, sessions and decisions are named without: they may be imported again


def test_the_tables_have_the_columns_of_the_spec(file):
    with closing(sqlite3.connect(file)) as db:
        for table, names in TABLES.items():
            assert names <= columns(db, table).keys()


@in_spec
def test_the_optimising_index_is_made_as_it_stands(file):
    (statement,) = re.findall(r"CREATE INDEX IF NOT EXISTS \w+ ON write_guardian_audit\([^)]*\);", spec())
    with closing(sqlite3.connect(file)) as db:
        db.execute(statement)
        db.execute(statement)
        plan = db.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM write_guardian_audit WHERE session_id = 's1' ORDER BY created_at"
        )
        assert "USING INDEX idx_audit_session" in plan.fetchone()[3]


def test_what_the_rollback_of_the_spec_reads_is_there(file):
    """The rollback steps of the spec find their tables and columns in plain SQL.

    They read the write, the version before it, and the rollback.
    """
    with closing(sqlite3.connect(file)) as db:
        db.row_factory = sqlite3.Row
        audit = db.execute("SELECT * FROM write_guardian_audit WHERE id = ?", ["w1"]).fetchone()
        before = db.execute("SELECT * FROM file_snapshots WHERE id = ?", [audit["before_snapshot_id"]]).fetchone()
        done = db.execute("SELECT * FROM rollbacks WHERE audit_id = ?", [audit["id"]]).fetchone()
        corrected = db.execute("SELECT * FROM behavior_corrections WHERE apply_to_future = true").fetchone()
    assert (audit["lines_added"], audit["lines_removed"], audit["target_file"]) == (1, 0, "MEMORY.md")
    assert audit["diff"].splitlines()[-1] == "+- tea"
    assert before["content"] == "# Facts\n" and done["restored_snapshot_id"] == before["id"]
    assert (done["previous_status"], corrected["id"], corrected["corrected_status"]) == ("written", "c1", "refused")


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (FileSnapshot, {"id": "x", "file_name": "AGENTS.md", "content": "", "content_hash": "", "size_bytes": 0}),
        (FileSnapshot, {"id": "x", "file_name": "USER.md", "content": None, "content_hash": "", "size_bytes": 0}),
        (WriteGuardianAudit, {"id": "x", "status": "perhaps"}),
        (WriteGuardianAudit, {"id": "x", "status": "written", "origin": "recorded", "session_id": "s"}),
    ],
)
def test_the_file_itself_refuses_what_cannot_be(ada, model, values):
    with pytest.raises(IntegrityError), transaction.atomic(using="agent_ada"):
        model.objects.using("agent_ada").create(**values | {"created_at": T0})


def test_a_write_is_rolled_back_once(ada):
    audit = create_write("agent_ada", 1, b"a\n", b"b\n")
    fields = {
        "audit": audit,
        "rolled_back_at": T0,
        "rolled_back_by": "otto",
        "reason": "x",
        "previous_status": "written",
    }
    Rollback.objects.using("agent_ada").create(id="r1", **fields)
    with pytest.raises(IntegrityError), transaction.atomic(using="agent_ada"):
        Rollback.objects.using("agent_ada").create(id="r2", **fields)
