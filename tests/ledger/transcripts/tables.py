"""Whole tables of the agent ada."""

from contextlib import closing

from django.db import connections

from ledger.rebuild import deep_checks, quick_checks

DB = "agent_ada"


def rows(table):
    """Every row, as a dict, in a fixed order; costs to a billionth of a dollar."""
    with closing(connections[DB].cursor()) as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in found:
        if row.get("cost_usd") is not None:
            row["cost_usd"] = round(row["cost_usd"], 9)
    return found


def wrong():
    """The sessions of which something is not what their records say."""
    return {one.session_id for one in (*quick_checks.find_differences(DB), *deep_checks.find_differences(DB))}
