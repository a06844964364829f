"""Shared by the tests of what is lost and collected again."""

from django.db import connections

from agents import databases
from tests.collecting.collecting import MAIN
from tests.homes import assistant, result, user

LONG = "\n".join(f"line {number} of a long output" for number in range(400))
DERIVED = (
    *("sessions", "transcript_events", "transcript_event_identities", "transcript_snapshots", "conversation_turns"),
    *("session_days", "session_tools", "tool_days", "artifacts", "rejected_records"),
)


def everything(db=MAIN):
    """Every derived row, without the numbers that SQLite gives."""
    found = {}
    with connections[db].cursor() as cursor:
        for table in DERIVED:
            cursor.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            hidden = {"id", "created_at"} if table == "rejected_records" else set()
            rows = [[value for name, value in zip(names, row, strict=True) if name not in hidden] for row in cursor]
            found[table] = sorted(map(repr, rows))
    return found


def conversation(home, session=None, turns=4):
    script = home.transcript(session=session)
    for turn in range(turns):
        call = f"c{turn}"
        script.add(user(f"Question {turn}"), assistant("I look", (call, "exec", {"n": turn})))
        script.add(result(call, LONG if turn == 1 else "short"), assistant(f"Answer {turn}"))
        if turn == 2:
            script.add({"type": "compaction", "summary": "What was said", "tokensBefore": 9})
    return script


def damage(db, statement, *values):
    with connections[db].cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys=OFF")
        cursor.execute(statement, values)
        cursor.execute("PRAGMA foreign_keys=ON")


class Quiet:
    def update(self, *_more):
        pass

    log = update


def lose(agent_id):
    databases.forget(f"agent_{agent_id}")
    for file in databases.path(agent_id).parent.iterdir():
        file.unlink()
