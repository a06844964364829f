"""Whole tables of the agent ada."""

from contextlib import closing

from django.db import connections

from ledger.rebuild import deep_checks, quick_checks

DB = "agent_ada"


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
    """Find the sessions of which something differs from what their records say."""
    return {
        difference.session_id for difference in (*quick_checks.find_differences(DB), *deep_checks.find_differences(DB))
    }
