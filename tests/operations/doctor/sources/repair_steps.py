"""Takes steps of damage and repair in one process, and reports the state after each.

The state is read by plain SQL.
"""

import json
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

AGENT = "main"
LOSSES = {"events": "DELETE FROM transcript_events", "identities": "UPDATE transcript_events SET event_id = NULL"}
HELD = "SELECT session_id, event_id, kind FROM transcript_events WHERE event_id IS NOT NULL"


def play(plan_json):
    """Take the steps of a JSON plan; prints a line of JSON after each.

    The line says what the store contains, which sessions were removed, and the losses.
    """
    plan = json.loads(plan_json)
    home, source = Path(plan["home"]), Path(plan["source"])
    for step in plan["steps"]:
        losses = _take_step(step, home, source)
        state = {"step": step, "held": _read_held(home), "removed": _read_removed(home), "losses": losses}
        sys.stdout.write(json.dumps(state) + "\n")


def _take_step(step, home, source):
    from django.db import connections

    from agents import databases  # tests that set Django up otherwise import this module
    from collecting import collect
    from jobs.progress import Progress
    from openclaw_web.errors import Refused
    from operations.doctor import fix_job, plan, undo_job
    from operations.retention import services as retention

    name, *rest = step
    params, progress = {"source": str(source)}, Progress()
    jobs = {
        "collect": lambda: collect.run(params, progress),
        "again": lambda: collect.run(params | {"again": True}, progress),
        "fix": lambda: fix_job.run(params, progress)["run"],
        "accept": lambda: fix_job.run(params | {"accept_losses": True}, progress)["run"],
        "look": lambda: plan.run_check(params, progress),
        "deep": lambda: plan.run_check(params | {"deep": True}, progress),
        "retention": lambda: retention.remove_sessions({"days": 30}, progress),
        "undo": lambda: undo_job.run({"run": _last_run(home)}, progress),
    }
    result = None
    if name in jobs:
        with suppress(Refused):
            result = jobs[name]()
    else:
        if f"agent_{AGENT}" in connections.settings:
            databases.remove_alias(f"agent_{AGENT}")
        globals()[f"_{name}"](home, source, *rest)
    keys = ("losses", "store", "to_read", "lost_records")
    return {key: (result or {}).get(key) for key in keys} if name in ("fix", "accept", "look", "deep") else None


def _file(home):
    return home / "agents" / AGENT / "agent" / "openclaw-agent.sqlite"


def _execute(file, sql, values=()):
    if not file.exists():
        return []
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute(sql, values).fetchall()
        db.commit()
        return rows


def _read_held(home):
    held = {}
    for session, record, kind in _execute(_file(home), HELD):
        held.setdefault(session, {})[record] = kind
    return held


def _read_removed(home):
    sql = "SELECT session_id FROM collector_sessions WHERE removed_why <> ''"
    return [session for (session,) in _execute(home / "state" / "openclaw.sqlite", sql)]


def _last_run(home):
    sql = "SELECT id FROM migration_runs WHERE status IN ('completed', 'warning') ORDER BY started_at DESC, id DESC"
    runs = _execute(home / "state" / "openclaw.sqlite", sql)
    return runs[0][0] if runs else "none"


def _lose_store(home, source):
    for file in _file(home).parent.glob("openclaw-agent.sqlite*"):
        file.unlink()


def _lose_rows(home, source, which, every, offset):
    for name, sql in LOSSES.items():
        if which in (name, "both"):
            sql += " WHERE (session_id, seq) IN (SELECT session_id, seq FROM (SELECT session_id, seq,"
            sql += " row_number() OVER (ORDER BY session_id, seq) n FROM transcript_events) WHERE n % ? = ?)"
            _execute(_file(home), sql, (every, offset % every))


def _lose_session(home, source, session):
    for table in ("transcript_events", "conversation_turns", "session_days", "session_tools", "transcript_snapshots"):
        _execute(_file(home), f"DELETE FROM {table} WHERE session_id = ?", (session,))
    _execute(_file(home), "DELETE FROM sessions WHERE id = ?", (session,))


def _swap(home, source, session, number):
    """Change the id of one record of a session, which leaves the number of records."""
    sql = "UPDATE transcript_events SET event_id = 'swapped-' || event_id"
    sql += " WHERE session_id = ?1 AND event_id = 'r' || ?2"
    _execute(_file(home), sql, (session, number))


def _lose_source(home, source, session):
    (source / "agents" / AGENT / "sessions" / f"{session}.jsonl").unlink(missing_ok=True)


def _lose_piece(home, source, session, number):
    """Remove a line in the middle of a transcript."""
    file = source / "agents" / AGENT / "sessions" / f"{session}.jsonl"
    if file.exists():
        lines = file.read_bytes().splitlines(keepends=True)
        if len(lines) > 1:
            del lines[1 + number % (len(lines) - 1)]
            file.write_bytes(b"".join(lines))
