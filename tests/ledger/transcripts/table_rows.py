"""Whole tables of the agent ada."""

from collections import defaultdict
from contextlib import closing, suppress

from django.db import connections, transaction

from ledger.rebuild import repeats, sums

DB = "agent_ada"
SESSION_TABLES = (
    *("sessions", "session_days", "session_tools", "transcript_snapshots", "conversation_turns"),
    *("transcript_events", "transcript_event_identities"),
)


def read_rows(table):
    """Return every row as a dict, in a fixed order.

    Costs are rounded to a billionth of a dollar.
    """
    with closing(connections[DB].cursor()) as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        names = [column[0] for column in cursor.description]
        dicts = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in dicts:
        if row.get("cost_usd") is not None:
            row["cost_usd"] = round(row["cost_usd"], 9)
    return dicts


def find_wrong_sessions():
    """Find the sessions of which something differs from what their records say.

    They are derived again, which is taken back.
    """
    before, after = read_session_rows(), {}
    with suppress(Rollback), transaction.atomic(using=DB):
        for session_id in {*before}:
            sums.rebuild_session(DB, session_id)
        after = read_session_rows()
        raise Rollback
    wrong = {session_id for session_id in before.keys() | after.keys() if before.get(session_id) != after[session_id]}
    return wrong | set(repeats.find_wrongly_marked(DB))


class Rollback(Exception):
    """Ends a transaction without its changes."""


def read_session_rows():
    """Return the derived rows by session."""
    rows = defaultdict(list)
    for table in SESSION_TABLES:
        for row in read_rows(table):
            rows[row.get("session_id") or row["id"]].append((table, row))
    return rows
