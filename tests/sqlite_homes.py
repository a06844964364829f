"""OpenClaw homes of the database layout, with the tables of real versions."""

import json
import sqlite3
from contextlib import closing

import zstandard

from tests.homes import START, Home

T0 = 1_771_642_800_000  # START as milliseconds
CANARY = "sk-fake-canary-" + "7" * 40
PACK_FROM = 1024

AGENT_DDL = """
CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, agent_id TEXT);
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL,
  entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL, status TEXT, label TEXT, display_name TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
  previous_session_id TEXT, reason TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT,
  chat_type TEXT, channel TEXT, account_id TEXT, primary_conversation_id TEXT, model_provider TEXT, model TEXT,
  display_name TEXT) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT,
  PRIMARY KEY (session_id, seq),
  CHECK (event_json IS NOT NULL OR (event_zstd IS NOT NULL AND event_utf8_bytes > 0))) STRICT;
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL, session_key TEXT NOT NULL,
  reason TEXT NOT NULL, encoding TEXT NOT NULL, archive_blob BLOB NOT NULL, archive_sha256 TEXT NOT NULL,
  archive_name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, generation)) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL,
  archive_name TEXT NOT NULL UNIQUE, archived_at INTEGER NOT NULL, storage TEXT NOT NULL, archive_blob BLOB) STRICT;
CREATE TABLE conversations (conversation_id TEXT NOT NULL PRIMARY KEY, channel TEXT NOT NULL, account_id TEXT NOT NULL,
  kind TEXT NOT NULL, peer_id TEXT NOT NULL, delivery_target TEXT NOT NULL, label TEXT) STRICT;
CREATE TABLE auth_profile_store (profile TEXT PRIMARY KEY, store_json TEXT NOT NULL) STRICT;
"""
STATE_DDL = """
CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, name TEXT NOT NULL, enabled INTEGER NOT NULL,
  agent_id TEXT, job_json TEXT NOT NULL, state_json TEXT NOT NULL DEFAULT '{}', updated_at INTEGER NOT NULL,
  PRIMARY KEY (store_key, job_id)) STRICT;
CREATE TABLE cron_run_logs (store_key TEXT, job_id TEXT NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
  status TEXT, error TEXT, summary TEXT, session_id TEXT, run_at_ms INTEGER, duration_ms INTEGER,
  entry_json TEXT NOT NULL);
CREATE TABLE cron_run_receipts (receipt_id TEXT PRIMARY KEY, store_key TEXT, job_id TEXT NOT NULL, agent_id TEXT,
  status TEXT NOT NULL, started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER, error_text TEXT) STRICT;
CREATE TABLE task_runs (task_id TEXT NOT NULL PRIMARY KEY, runtime TEXT NOT NULL, source_id TEXT, owner_key TEXT,
  child_session_key TEXT, agent_id TEXT, run_id TEXT, label TEXT, task TEXT NOT NULL, status TEXT NOT NULL,
  created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER, tool_use_count INTEGER, error TEXT,
  terminal_summary TEXT, detail_json TEXT) STRICT;
CREATE TABLE flow_runs (flow_id TEXT NOT NULL PRIMARY KEY, owner_key TEXT NOT NULL, status TEXT NOT NULL,
  goal TEXT NOT NULL, state_json TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE subagent_runs (run_id TEXT NOT NULL PRIMARY KEY, child_session_key TEXT NOT NULL,
  requester_session_key TEXT NOT NULL, task TEXT, created_at INTEGER NOT NULL, ended_at INTEGER, outcome_json TEXT,
  payload_json TEXT NOT NULL DEFAULT '{}') STRICT;
CREATE TABLE delivery_queue_entries (queue_name TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, session_key TEXT,
  channel TEXT, target TEXT, retry_count INTEGER NOT NULL DEFAULT 0, last_error TEXT, entry_json TEXT NOT NULL,
  enqueued_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (queue_name, id)) STRICT;
CREATE TABLE device_identities (device_id TEXT PRIMARY KEY, private_key_pem TEXT NOT NULL) STRICT;
"""


class SqliteHome(Home):
    """An OpenClaw home whose agents have a database.

    Records get ids and follow each other as in `Home`.
    """

    version = 23

    def __init__(self, root, agents=("main",)):
        super().__init__(root, agents)
        for agent in agents:
            (root / "agents" / agent / "sessions").rmdir()
            self.database(agent).parent.mkdir()
            with self.writing(agent) as store:
                store.executescript("PRAGMA journal_mode=WAL;" + AGENT_DDL)
                store.execute(f"PRAGMA user_version={self.version}")
                store.execute("INSERT INTO auth_profile_store VALUES ('p', ?)", (json.dumps({"key": CANARY}),))

    def database(self, agent="main"):
        return self.root / "agents" / agent / "agent" / "openclaw-agent.sqlite"

    def writing(self, agent="main"):
        """Open the agent's database as its owner does; the block commits and closes."""
        return _Writing(self.database(agent))

    def session(self, session, *records, agent="main", key=None, generation="g1", **entry):
        """A session with a node, a window and a header record before `records`."""
        key = key or f"agent:{agent}:openai:{session[:8]}"
        with self.writing(agent) as store:
            entry_text = json.dumps({"sessionId": session, "updatedAt": T0, "delivery": {"kind": "none"}, **entry})
            store.execute(
                "INSERT OR REPLACE INTO session_nodes (session_key, current_session_id, entry_json, updated_at)"
                " VALUES (?, ?, ?, ?)",
                (key, session, entry_text, T0),
            )
            self._window(store, session, key)
            store.execute("INSERT INTO transcript_rewrite_watermarks VALUES (?, ?, 0)", (session, generation))
        header = {"type": "session", "version": 4, "id": session, "timestamp": START + "00.000Z", "cwd": "/nowhere"}
        return self.append(session, header, *records, agent=agent)

    def append(self, session, *records, agent="main"):
        """Add records after those of the session; a text or bytes are stored unchanged."""
        with self.writing(agent) as store:
            count, seq = store.execute(
                "SELECT count(*), coalesce(max(seq), -1) FROM transcript_events WHERE session_id = ?", (session,)
            ).fetchone()
            for record in records:
                seq, count = seq + 1, count + 1
                if isinstance(record, dict):
                    record = json.dumps(_link_record(record, count - 1), ensure_ascii=False)
                self.event(store, session, seq, record)
        return self

    def event(self, store, session, seq, text):
        packed = None
        if isinstance(text, str) and len(text) >= PACK_FROM:
            text, packed = None, zstandard.compress(text.encode())
        elif isinstance(text, bytes):
            text, packed = None, text
        values = (session, seq, text, T0 + seq, packed, 1 if packed else None)
        store.execute(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_zstd, event_utf8_bytes)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            values,
        )

    def archive(self, session, *records, reason="deleted", agent="main", encoding="zstd"):
        """Add a deleted or reset session, whose lines are only in its archive."""
        header = {"type": "session", "id": session, "timestamp": START + "00.000Z"}
        lines = [header, *(_link_record(record, count) for count, record in enumerate(records, start=1))]
        blob = "".join(json.dumps(line) + "\n" for line in lines).encode()
        name = f"{session}.jsonl.{reason}.2026-02-21T03-07-21.630Z.{session[:8]}.zst"
        blob = zstandard.compress(blob) if encoding == "zstd" else blob
        with self.writing(agent) as store:
            store.execute(
                "INSERT INTO session_transcript_archives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (session, "a1", f"agent:{agent}:main", reason, encoding, blob, "0" * 64, name, T0),
            )
        return name, blob

    def state(self):
        """The home's state database; made with its tables on first use."""
        path = self.root / "state" / "openclaw.sqlite"
        is_new = not path.exists()
        path.parent.mkdir(exist_ok=True)
        writing = _Writing(path)
        if is_new:
            writing.store.executescript("PRAGMA journal_mode=WAL; PRAGMA user_version=18;" + STATE_DDL)
            writing.store.execute("INSERT INTO device_identities VALUES ('d', ?)", (CANARY,))
        return writing

    def insert(self, store, table, **values):
        """Insert a row."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        texts = [json.dumps(value) if isinstance(value, dict) else value for value in values.values()]
        store.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", texts)

    def _window(self, store, session, key):
        store.execute(
            "INSERT OR REPLACE INTO session_windows (session_id, session_key, created_at, updated_at)"
            " VALUES (?, ?, ?, ?)",
            (session, key, T0, T0),
        )


class _Writing:
    def __init__(self, path):
        self.store = sqlite3.connect(path)

    def __enter__(self):
        return self.store

    def __exit__(self, kind, *_):
        with closing(self.store):
            if kind is None:
                self.store.commit()


def _link_record(record, count):
    if record.get("type") == "session":
        return record
    links = {"id": f"r{count}", "parentId": f"r{count - 1}" if count > 1 else None}
    return links | {"timestamp": f"{START}{count % 60:02d}.000Z"} | record
