"""Homes of OpenClaw 2026.9.7 and later for tests, converted from schema 23.

They are converted because these programs cannot be run here.

What changed is from OpenClaw's own documents (schema history): from 24 on three fields of an entry are rows of
`session_entry_snapshots`; 25 retires triggers. Everything else is as a program of schema 23 wrote it.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

SNAPSHOTS = ("sessionDiffBaseline", "skillsSnapshot", "systemPromptReport")
SNAPSHOTS_DDL = """
ALTER TABLE session_nodes ADD COLUMN snapshot_revision INTEGER NOT NULL DEFAULT 0;
CREATE TABLE session_entry_snapshots (session_key TEXT NOT NULL, field TEXT NOT NULL, value_json TEXT NOT NULL,
  PRIMARY KEY (session_key, field)) STRICT;
"""
REACTIONS_DDL = """
CREATE TABLE session_reactions (session_key TEXT NOT NULL, session_id TEXT NOT NULL, message_id TEXT NOT NULL,
  emoji TEXT NOT NULL, identity_id TEXT NOT NULL, label TEXT, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_key, session_id, message_id, emoji, identity_id)) STRICT;
"""


def copy_converted(home: Path, to: Path, *, agent: int = 24, state: int = 19) -> Path:
    """Copy a home of schema 23, and give its databases these versions."""
    shutil.copytree(home, to, symlinks=True)
    for path in (to, *to.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    for path in to.glob("agents/*/agent/openclaw-agent.sqlite"):
        convert_agent_database(path, agent)
    if (database := to / "state" / "openclaw.sqlite").exists():
        set_version(database, state)
    return to


def convert_agent_database(path: Path, version: int = 24) -> None:
    """Convert an agent's database of schema 23 to 24 or later, as OpenClaw's migration does."""
    with closing(sqlite3.connect(path)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.executescript(SNAPSHOTS_DDL + (REACTIONS_DDL if version > 24 else ""))
        for key, text in database.execute("SELECT session_key, entry_json FROM session_nodes").fetchall():
            entry = json.loads(text)
            taken = {name: entry.pop(name) for name in SNAPSHOTS if name in entry}
            rows = [(key, name, json.dumps(value)) for name, value in taken.items()]
            database.executemany("INSERT INTO session_entry_snapshots VALUES (?, ?, ?)", rows)
            database.execute("UPDATE session_nodes SET entry_json = ? WHERE session_key = ?", (json.dumps(entry), key))
        database.commit()
    set_version(path, version)


def set_version(path: Path, version: int) -> None:
    """Mark a database with a schema version in both places that OpenClaw has for it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={version}")
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_meta'").fetchone():
            database.execute("UPDATE schema_meta SET schema_version = ?", (version,))
        database.commit()
