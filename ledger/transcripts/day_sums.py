"""Sums of sessions by UTC day.

A turn counts on the day of its user message, and only on the active branch.
"""

from collections import Counter
from collections.abc import Mapping

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.rows import insert_sql

from ..models import SessionDay
from .rows import TOTALS, RecordSums, add_totals

COLUMNS = tuple(field.attname for field in SessionDay._meta.concrete_fields)
INSERT = insert_sql("session_days", COLUMNS)
ADDED = (*TOTALS, "record_count")


def add(db: str, session_id: str, new: Mapping[str, RecordSums], turns_by_day: Counter[str], *, is_new: bool) -> None:
    """Add new records to the sums by day, and set the turns of all days.

    It runs in the caller's transaction.
    """
    days = [] if is_new else SessionDay.objects.using(db).filter(session_id=session_id)
    stored = {day.date: day for day in days}
    fresh = []
    for date in stored.keys() | new.keys():
        day = stored.get(date) or SessionDay(session_id=session_id, date=date)
        before = dict(day.__dict__)
        day.turn_count = turns_by_day[date]
        for name in ADDED if date in new else ():
            setattr(day, name, add_totals(getattr(day, name), getattr(new[date], name)))
        if date not in stored:
            fresh.append(day)
        elif day.__dict__ != before:
            day.save(using=db)
    statements.run_many(db, INSERT, [[getattr(day, column) for column in COLUMNS] for day in fresh])
