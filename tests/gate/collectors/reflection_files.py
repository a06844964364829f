"""Small files of openclaw-reflection that are a great deal to import.

An attack or a careless agent makes such files.

Each function writes one shape; its sizes are parameters. Used by tests and by `benchmarks/writes/reflection.py`.
"""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

T0 = 1_790_000_000_000
KEY = "agent:main:main"
OWN = ".openclaw-reflection"
AUDIT = """CREATE TABLE write_guardian_audit (id TEXT PRIMARY KEY, session_id TEXT, target_file TEXT, candidate_fact
    TEXT, before_snapshot_id TEXT, after_snapshot_id TEXT, status TEXT, created_at INTEGER)"""
SNAPSHOT = "CREATE TABLE file_snapshots (id TEXT PRIMARY KEY, file_name TEXT, content TEXT, created_at INTEGER)"
CORRECTION = """CREATE TABLE behavior_corrections (id TEXT PRIMARY KEY, audit_id TEXT, original_status TEXT,
    original_candidate_fact TEXT, original_target_file TEXT, corrected_status TEXT, corrected_candidate_fact TEXT,
    corrected_target_file TEXT, correction_reason TEXT, apply_to_future BOOLEAN, correction_pattern TEXT,
    corrected_by TEXT, corrected_at INTEGER)"""
ROLLBACK = """CREATE TABLE rollbacks (id TEXT PRIMARY KEY, audit_id TEXT, rolled_back_at INTEGER, rolled_back_by TEXT,
    reason TEXT)"""
DECISION = """CREATE TABLE memory_gate_decisions (id TEXT PRIMARY KEY, turn_id TEXT, session_id TEXT, decision TEXT,
    reason TEXT, candidate_fact TEXT, created_at INTEGER)"""
TURN = """CREATE TABLE conversation_turns (id TEXT PRIMARY KEY, turn_number INTEGER, user_message_content TEXT,
    agent_message_content TEXT, created_at INTEGER)"""
CONTEXT = """CREATE TABLE conversation_contexts (turn_id TEXT, role TEXT, message TEXT, timestamp INTEGER,
    sequence_number INTEGER)"""


def make_home(root: Path) -> Path:
    """Makes a home of one agent with a workspace; returns the workspace."""
    (root / "agents" / "main" / "sessions").mkdir(parents=True)
    (root / "openclaw.json").write_text("{}\n")
    (root / "workspace" / OWN).mkdir(parents=True)
    return root / "workspace"


def write_same_versions(workspace: Path, *, writes: int = 2_000, size: int = 1_000_000, is_one_line: bool = False):
    """Writes a database whose writes all replace one version of MEMORY.md by the same other one.

    Each version has `size` bytes.
    """
    line = "" if is_one_line else "\n"
    before, after = ((f"{word} {'x' * 30}{line}" * (size // 36))[:size] for word in ("one", "two"))
    with _database(workspace, AUDIT, SNAPSHOT) as db:
        db.executemany(
            "INSERT INTO file_snapshots VALUES (?, 'MEMORY.md', ?, ?)", [("v1", before, T0), ("v2", after, T0)]
        )
        rows = ((f"w{n}", KEY, "MEMORY.md", f"Fact {n}.", "v1", "v2", "written", T0 + n * 1_000) for n in range(writes))
        db.executemany("INSERT INTO write_guardian_audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def write_many_versions(workspace: Path, *, writes: int = 2_000):
    """Writes a database of writes with two short versions each; no table has an index."""
    with _database(workspace, AUDIT.replace(" PRIMARY KEY", ""), SNAPSHOT.replace(" PRIMARY KEY", "")) as db:
        versions = ((f"v{n}", "MEMORY.md", f"Fact {n}.\n", T0) for n in range(writes + 1))
        db.executemany("INSERT INTO file_snapshots VALUES (?, ?, ?, ?)", versions)
        rows = (
            (f"w{n}", KEY, "MEMORY.md", f"Fact {n}.", f"v{n}", f"v{n + 1}", "written", T0 + n * 1_000)
            for n in range(writes)
        )
        db.executemany("INSERT INTO write_guardian_audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def write_one_turn(workspace: Path, *, decisions: int = 3_000, messages: int = 3_000, length: int = 200):
    """Writes a database of decisions on one turn, with the messages before it."""
    with _database(workspace, DECISION, TURN, CONTEXT) as db:
        db.execute("INSERT INTO conversation_turns VALUES ('t1', 1, 'Hello', 'Good morning.', ?)", [T0])
        contexts = (
            ("t1", ("user", "agent")[n % 2], f"{n} {'x' * length}", T0 - messages + n, n) for n in range(messages)
        )
        db.executemany("INSERT INTO conversation_contexts VALUES (?, ?, ?, ?, ?)", contexts)
        rows = ((f"d{n}", "t1", KEY, "NO_WRITE", f"Reason {n}.", None, T0 + n) for n in range(decisions))
        db.executemany("INSERT INTO memory_gate_decisions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def write_corrections(workspace: Path, *, corrections: int = 30_000, rollbacks: int = 0):
    """Writes a database of corrections, and rollbacks, of one write."""
    with _database(workspace, AUDIT, CORRECTION, ROLLBACK) as db:
        row = ["w1", KEY, "USER.md", "Likes tea.", None, None, "written", T0]
        db.execute("INSERT INTO write_guardian_audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        correction = ("w1", "written", "Likes tea.", "USER.md", "refused", None, None, "No.", 0, None, "eve")
        rows = ((f"c{n}", *correction, T0 + n) for n in range(corrections))
        db.executemany(f"INSERT INTO behavior_corrections VALUES ({', '.join('?' * 13)})", rows)
        taken = ((f"r{n}", "w1", T0 + n, "eve", "Wrong.") for n in range(rollbacks))
        db.executemany("INSERT INTO rollbacks VALUES (?, ?, ?, ?, ?)", taken)


def write_equal_lines(log: Path, *, lines: int = 50_000):
    """Writes a plugin's log that repeats one decision."""
    line = _line(T0, "MessageHandler", "memory_gate decision evaluated", _decision("NO_WRITE", "Small talk."), KEY)
    with log.open("a") as file:
        file.writelines(line for _ in range(lines))


def write_equal_writes(workspace: Path, *, lines: int = 50_000):
    """Writes a log of write_guardian that repeats one write."""
    with (workspace / OWN / "write-guardian.log.jsonl").open("a") as file:
        file.writelines(_guardian_line(T0, "Likes tea.") for _ in range(lines))


def write_long_windows(log: Path, *, decisions: int = 20, size: int = 1_000, before: int = 0):
    """Writes a conversation in which the gate is given as many messages as the plugin keeps.

    Each message has `size` characters.
    """
    config = {"bufferSize": 1_000, "logLevel": "debug", "memoryGate": {"windowSize": 1_000}}
    with log.open("a") as file:
        file.write(_line(T0, "PluginLifecycle", "Plugin starting"))
        file.write(_line(T0, "PluginLifecycle", "Configuration loaded", config))
        for number in range(before):
            file.writelines(_message_lines(T0 + number, "user", f"{number} {'y' * size}", number == 0))
        for number in range(decisions):
            file.writelines(_exchange(T0 + (before + number) * 1_000, number, size, 1_000, before))


def write_conversation(log: Path, *, lines: int = 10_000, start: int = 0) -> int:
    """Writes a conversation as the plugin logs it, five lines for each exchange.

    An exchange is a message and its reply with a decision.

    Goes on where the log ends when `start` is what the call before returned.
    """
    with log.open("a") as file:
        if not start:
            config = {"bufferSize": 50, "logLevel": "debug", "memoryGate": {"windowSize": 10}}
            file.write(_line(T0, "PluginLifecycle", "Plugin starting"))
            file.write(_line(T0, "PluginLifecycle", "Configuration loaded", config))
        for number in range(start, start + lines // 5):
            file.writelines(_exchange(T0 + number * 60_000, number, 200, 10))
    return start + lines // 5


def write_writes(workspace: Path, *, lines: int = 10_000, start: int = 0) -> int:
    """Writes a log of write_guardian with a write for each exchange of `write_conversation`."""
    with (workspace / OWN / "write-guardian.log.jsonl").open("a") as file:
        file.writelines(_guardian_line(T0 + n * 60_000 + 2_500, f"Fact {n}.") for n in range(start, start + lines))
    return start + lines


def _exchange(at, number, size, width, before=0):
    """Yields the lines of a message, a reply, the question to the gate and its answer."""
    message_count = min(width, before + 2 * (number + 1))
    question = {"recentMessages": message_count, "hasCurrentUserMessage": True, "hasCurrentAgentReply": True}
    decision_details = _decision("UPDATE_MEMORY", f"Reason {number}.")
    yield from _message_lines(at, "user", f"Question {number} {'q' * size}", number == before == 0)
    yield from _message_lines(at + 1_000, "agent", f"Answer {number} {'a' * size}", False)
    yield _line(at + 1_001, "memory_gate", "Starting memory_gate analysis", question)
    yield _line(at + 2_000, "memory_gate", "memory_gate decision generated", decision_details)
    yield _line(at + 2_000, "MessageHandler", "memory_gate decision evaluated", decision_details, KEY)


def _message_lines(at, role, text, is_first):
    hook = "message:received" if role == "user" else "before_message_write"
    message = {"role": role, "message": text, "timestamp": at, "sessionKey": KEY}
    details = {"hookName": hook, "bufferMessage": message}
    yield _line(at, "MessageHandler", "Buffer message snapshot", details, KEY)
    if is_first:
        yield _line(at, "SessionBufferManager", "Creating new session buffer", {"sessionKey": KEY}, KEY)


def _decision(decision, reason):
    return {"decision": decision, "reason": reason, "hasCandidateFact": decision != "NO_WRITE"}


def _guardian_line(at, fact):
    entry = {"timestamp": _moment(at), "decision": "UPDATE_MEMORY", "targetFile": "MEMORY.md", "status": "written"}
    return json.dumps(entry | {"candidateFact": fact}) + "\n"


def _line(at, component, event, details=None, key=None):
    entry = {"timestamp": _moment(at), "level": "info", "component": component, "event": event}
    entry |= {"details": details} if details else {}
    return json.dumps(entry | ({"sessionKey": key} if key else {})) + "\n"


def _moment(at):
    return datetime.fromtimestamp(at / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _database:
    """The `reflection.db` of a workspace with these tables, committed at the end of the block."""

    def __init__(self, workspace, *tables):
        self.db = sqlite3.connect(workspace / OWN / "reflection.db")
        for table in tables:
            self.db.execute(table)

    def __enter__(self):
        return self.db

    def __exit__(self, *_exc):
        with closing(self.db):
            self.db.commit()
