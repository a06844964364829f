"""Shared by the tests of the collector."""

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
    """What a collect told of how far it was: pairs of done and total."""
    told = []
    collect.run({"source": str(root), **params}, Progress(lambda done, total, message: told.append((done, total))))
    return told


def assert_honest(told):
    """Progress never falls back, never passes its total, which stays what it is, and ends there."""
    done = [one for one, _total in told]
    totals = {total or 0 for _done, total in told}
    assert done == sorted(done)
    assert totals == {done[-1]}, told


def events(kind=None, db=MAIN):
    rows = TranscriptEvent.objects.using(db)
    return (rows.filter(kind=kind) if kind else rows).count()


def count_opens(function):
    """Every path that is opened while `function` runs, by whatever means."""
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


def delete_database(agent_id):
    databases.remove_alias(f"agent_{agent_id}")
    for file in databases.get_path(agent_id).parent.iterdir():
        file.unlink()
