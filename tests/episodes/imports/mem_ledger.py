"""Writes the ledger of openclaw-mem into homes."""

import sqlite3
from contextlib import closing
from pathlib import Path

from openclaw_web import clock

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-mem" / "openclaw-mem.sqlite"
PLACE = "memory/openclaw-mem.sqlite"
SCHEMA = """
    CREATE TABLE episodic_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL, ts_ms INTEGER NOT NULL, scope TEXT NOT NULL,
        session_id TEXT NOT NULL, agent_id TEXT NOT NULL, type TEXT NOT NULL, summary TEXT NOT NULL, payload_json TEXT,
        refs_json TEXT, redacted INTEGER NOT NULL DEFAULT 0, schema_version TEXT NOT NULL, created_at TEXT NOT NULL,
        search_text TEXT NOT NULL DEFAULT '');
    CREATE UNIQUE INDEX uq_episodic_event_id ON episodic_events(event_id);
    PRAGMA user_version = 3;
"""


class Ledger:
    """A database as openclaw-mem writes it.

    Rows get the ids e1, e2, ... unless a test names others.
    """

    def __init__(self, home, schema=SCHEMA):
        self.path = home.root / PLACE
        self.path.parent.mkdir(exist_ok=True)
        self.count = 0
        with closing(sqlite3.connect(self.path)) as database:
            database.executescript(schema)

    def add(self, **columns):
        self.count += 1
        row = {
            "event_id": f"e{self.count}", "ts_ms": clock.now_ms(), "scope": "global", "session_id": "s1",
            "agent_id": "main", "type": "ops.decision", "summary": f"Event {self.count}", "payload_json": None,
            "refs_json": None, "redacted": 0, "schema_version": "openclaw-mem.episodic.v0", "created_at": "2026",
        }  # fmt: skip
        row |= columns
        names = ", ".join(row)
        with closing(sqlite3.connect(self.path)) as database, database:
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO episodic_events ({names}) VALUES ({marks})", list(row.values()))
        return self
