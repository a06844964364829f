"""Helpers for the tests of the collector."""

import os
import sys

from django.db import connections

from agents import databases
from collecting import collect
from jobs.progress import Progress
from ledger.models import TranscriptEvent
from tests.homes import assistant, result, user

MAIN = "agent_main"
LONG = "\n".join(f"line {number} of a long output" for number in range(400))
DERIVED = (
    *("sessions", "transcript_events", "transcript_event_identities", "transcript_snapshots", "conversation_turns"),
    *("session_days", "session_tools", "tool_days", "artifacts", "rejected_records"),
)


def run(home, **params):
    return collect.run({"source": str(home.root), **params}, Progress())


def read_progress(root, **params):
    """Return the progress updates of a collect as pairs of done and total."""
    updates = []
    collect.run({"source": str(root), **params}, Progress(lambda done, total, message: updates.append((done, total))))
    return updates


def assert_honest(updates):
    """Assert that progress never decreases, and that it ends at a constant total."""
    done = [count for count, _total in updates]
    totals = {total or 0 for _done, total in updates}
    assert done == sorted(done)
    assert totals == {done[-1]}, updates


def count_events(kind=None, db=MAIN):
    rows = TranscriptEvent.objects.using(db)
    return (rows.filter(kind=kind) if kind else rows).count()


def count_opens(function):
    """Return every path that is opened while `function` runs, by whatever means."""
    opened, listening = [], [True]

    def hook(event, args):
        if listening and event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            opened.append(os.fsdecode(args[0]))

    sys.addaudithook(hook)
    try:
        function()
    finally:
        listening.clear()
    return opened


def dump_tables(db=MAIN):
    """Return every derived row, without the numbers that SQLite assigns."""
    tables = {}
    with connections[db].cursor() as cursor:
        for table in DERIVED:
            cursor.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            hidden = {"id", "created_at"} if table == "rejected_records" else set()
            rows = [[value for name, value in zip(names, row, strict=True) if name not in hidden] for row in cursor]
            tables[table] = sorted(map(repr, rows))
    return tables


def write_conversation(home, session=None, turns=4):
    """Write a transcript of some turns with calls, a long output and a compaction."""
    script = home.transcript(session=session)
    for turn in range(turns):
        call = f"c{turn}"
        script.add(user(f"Question {turn}"), assistant("I look", (call, "exec", {"n": turn})))
        script.add(result(call, LONG if turn == 1 else "short"), assistant(f"Answer {turn}"))
        if turn == 2:
            script.add({"type": "compaction", "summary": "What was said", "tokensBefore": 9})
    return script


def damage_rows(db, statement, *values):
    with connections[db].cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys=OFF")
        cursor.execute(statement, values)
        cursor.execute("PRAGMA foreign_keys=ON")


class SilentProgress:
    """A progress that reports nothing."""

    def update(self, *_more):
        pass

    log = update


def delete_database(agent_id):
    """Delete the database files of an agent."""
    databases.remove_alias(f"agent_{agent_id}")
    for file in databases.get_path(agent_id).parent.iterdir():
        file.unlink()
