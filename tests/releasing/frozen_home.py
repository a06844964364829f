"""The frozen home of tests/data/frozen_home: its files, its evidence, and where its rows are today."""

import sqlite3
import tarfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import zstandard

from tests.installation import next_version

DATA = Path(__file__).resolve().parents[1] / "data" / "frozen_home"
GLOBAL = "state/openclaw.sqlite"
# What people judged or entered, and what others cite by its number or checksum: by kind of file. Columns that a
# start of the site changes are left out of the comparison: they say when something was last used.
EVIDENCE = {
    "global": (
        *("api_tokens", "benchmarks", "dataset_exports", "dataset_members", "dataset_samples", "dataset_sides"),
        *("dataset_versions", "datasets", "finding_verdicts", "invitations", "kv", "operator_audit", "problems"),
        *("review_actions", "sample_drafts", "sample_exchanges", "sample_labels", "users", "version_taints"),
    ),
    "agent": (
        *("behavior_corrections", "episode_heads", "episode_policies", "episodic_events", "file_snapshots"),
        *("memory_gate_decisions", "removed_sessions", "rollbacks", "write_guardian_audit"),
    ),
}
CHANGED_BY_STARTS = {
    "api_tokens": {"last_used_at"},
    "users": {"last_login"},
    "sample_exchanges": {"records_hash", "is_stale", "checked_at"},  # gone: notes of a comparison that nothing read
}
STARTED = {"problems": "muted_at IS NOT NULL"}  # the checks of a start close and open others
# Where a migration moved evidence: by table, the statement that reads the rows of today under the frozen names.
MOVED: dict[str, str] = {}


def unpack(target: Path) -> Path:
    """Unpack the home below the folder `target`; the archive has its files alone."""
    with (
        (DATA / "home.tar.zst").open("rb") as packed,
        zstandard.open(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
    ):
        archive.extractall(target, filter="tar")
    return target / "home"


def make_program(target: Path) -> Path:
    """Copy this version, with slow migrations of the global database and of agents': a kill can meet them."""
    next_version.copy_packages(target)
    next_version.add_slow_migrations(target)
    return target


def read_evidence(home: Path, columns_by_table: dict | None = None) -> dict[tuple[str, str], Counter]:
    """Count the rows of evidence by file and table.

    Each row has the columns of `columns_by_table`, or all of its table.
    """
    evidence = {}
    for file in (home / GLOBAL, *sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))):
        place = file.relative_to(home).as_posix()
        kind = "global" if place == GLOBAL else "agent"
        with closing(sqlite3.connect(file)) as db:
            db.row_factory = sqlite3.Row
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            for table in EVIDENCE[kind]:
                columns = columns_by_table and columns_by_table[kind, table]
                evidence[place, table] = Counter(
                    tuple((name, row[name]) for name in columns or row.keys() if name not in changed)
                    for changed in [CHANGED_BY_STARTS.get(table, set())]
                    for row in db.execute(_build_statement(table, is_frozen=columns is None))
                )
    return evidence


def read_columns(home: Path) -> dict[tuple[str, str], list[str]]:
    """The columns of each table of evidence, by kind of file and table."""
    files = {"global": home / GLOBAL, "agent": home / "agents/main/agent/openclaw-agent.sqlite"}
    columns = {}
    for kind, file in files.items():
        with closing(sqlite3.connect(file)) as db:
            for table in EVIDENCE[kind]:
                columns[kind, table] = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
    return columns


def find_losses(before: dict, after: dict) -> dict:
    """The rows of `before` that `after` lacks, by file and table. More rows are no loss."""
    lost = {place: rows - after[place] for place, rows in before.items()}
    return {place: rows for place, rows in lost.items() if rows}


def _build_statement(table, *, is_frozen):
    moved = None if is_frozen else MOVED.get(table)
    rows = moved or f'SELECT * FROM "{table}"'
    return f"SELECT * FROM ({rows}) WHERE {STARTED.get(table, 'TRUE')}"
