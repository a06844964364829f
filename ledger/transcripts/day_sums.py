"""What sessions add up to by day. A turn counts on the day of its user message, and only on the active branch."""

from collections import Counter
from collections.abc import Mapping

from django.db import transaction

from openclaw_web.sqlite import statements

from ..models import SessionDay
from . import turns
from .rows import TOTALS, Sums, plus

ADDED = (*TOTALS, "record_count")
# Days of removed sessions stay as they were; all others add up to what their sessions say.
DIFFER = """
    SELECT (SELECT COALESCE(SUM(turn_count), 0) FROM sessions)
        <> (SELECT COALESCE(SUM(turn_count), 0) FROM session_days)
         - (SELECT COALESCE(SUM(turn_count), 0) FROM session_days
            WHERE session_id IN (SELECT session_id FROM removed_sessions))
"""
DIFFERENT = """
    SELECT sessions.id FROM sessions JOIN session_days ON session_days.session_id = sessions.id
    GROUP BY sessions.id HAVING SUM(session_days.turn_count) <> sessions.turn_count
"""


def add(db: str, session_id: str, new: Mapping[str, Sums], turns_by_day: Counter[str], *, is_new: bool) -> None:
    """Count new records in, by day, and set the turns of all days, in the caller's transaction."""
    stored = {} if is_new else _stored(db, session_id)
    fresh = []
    for date in stored.keys() | new.keys():
        day = stored.get(date) or SessionDay(session_id=session_id, date=date)
        before = dict(day.__dict__)
        day.turn_count = turns_by_day[date]
        for name in ADDED if date in new else ():
            setattr(day, name, plus(getattr(day, name), getattr(new[date], name)))
        if date not in stored:
            fresh.append(day)
        elif day.__dict__ != before:
            day.save(using=db)
    SessionDay.objects.using(db).bulk_create(fresh)


def settle_turns(db: str) -> None:
    """Count turns by day again of sessions whose days say another number than they do themselves.

    Older versions also counted turns of branches that were left.
    """
    if statements.one(db, DIFFER) == (False,):
        return
    for (session_id,) in statements.rows(db, DIFFERENT):
        with transaction.atomic(using=db):
            add(db, session_id, {}, turns.by_day(db, session_id), is_new=False)


def _stored(db, session_id):
    return {day.date: day for day in SessionDay.objects.using(db).filter(session_id=session_id)}
