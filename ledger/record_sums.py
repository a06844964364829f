"""What records add up to, in SQL over the columns beside them: the one definition that sums are checked and rebuilt by.

`ledger.services` adds new records to the same sums while they come in; tests hold the two to each other.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connections

from .rows import TOTALS

DAY_MS = 86_400_000
# What counts as a turn, of a session, a day and an agent: the same as `ledger.turns.by_day`.
TURN = "(kind = 'user' AND is_active)"
PROMPT = "IFNULL(input_tokens, 0) + IFNULL(cache_read_tokens, 0) + IFNULL(cache_write_tokens, 0)"
# Synthetic assistants are in none of the totals; TOTAL-like sums of nothing are 0.
TOTAL_SQL = {
    name: f"IFNULL(SUM(CASE WHEN is_synthetic THEN 0 ELSE {'is_failed' if name == 'error_count' else name} END), 0)"
    for name in TOTALS
}
SESSION_SQL = {
    **TOTAL_SQL,
    "record_count": "COUNT(*)",
    "turn_count": f"IFNULL(SUM({TURN}), 0)",
    "compaction_count": "IFNULL(SUM(kind = 'compaction'), 0)",
    "withheld_count": "IFNULL(SUM(kind = 'withheld'), 0)",
    "created_at": "MIN(created_at)",
}
DAY_SQL = {**TOTAL_SQL, "turn_count": f"IFNULL(SUM({TURN}), 0)", "record_count": "COUNT(*)"}
TURN_SQL = {
    **TOTAL_SQL,
    "record_count": "COUNT(*)",
    "last_seq": "MAX(seq)",
    "prompt_tokens": f"NULLIF(MAX(CASE WHEN is_synthetic THEN 0 ELSE {PROMPT} END), 0)",
}


def of_session(db: str, session_id: str) -> dict[str, Any]:
    """The columns of `sessions` that its records decide; `created_at` is None when it has none."""
    (found,) = _asked(db, SESSION_SQL, "", session_id)
    return found


def of_days(db: str, session_id: str) -> Iterator[dict[str, Any]]:
    """The columns of `session_days`, one dict a day with `date`, of a session."""
    columns = {"date": f"DATE(created_at / {DAY_MS} * 86400, 'unixepoch')", **DAY_SQL}
    yield from _asked(db, columns, "GROUP BY created_at / 86400000 ORDER BY 1", session_id)


def of_turns(db: str, session_id: str) -> dict[int, dict[str, Any]]:
    """The sums of `conversation_turns` by turn number, of a session."""
    columns = {"turn_number": "turn_number", **TURN_SQL}
    found = _asked(db, columns, "AND turn_number IS NOT NULL GROUP BY turn_number", session_id)
    return {row.pop("turn_number"): row for row in found}


def _asked(db, columns, last, session_id):
    query = f"SELECT {', '.join(columns.values())} FROM transcript_events WHERE session_id = %s {last}"  # noqa: S608 - ours
    with connections[db].cursor() as cursor:
        cursor.execute(query, [session_id])
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
