"""Removes whole sessions, and restores them.

The row that says that a session was removed is written in the same transaction.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from artifacts.models import Artifact
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, upkeep

from ..errors import record_groups
from ..models import PromptReport, RemovedSession, Session, SessionDay
from . import session_holdings, session_rows, tool_days

IS_REMOVED = "SELECT 1 FROM removed_sessions WHERE session_id = %s"


class NotRemoved(Refused):
    """A session that is not removed; the sentence says why."""


def read_all_removed_ids(db: str) -> set[str]:
    """The sessions that were removed."""
    return set(RemovedSession.objects.using(db).values_list("session_id", flat=True))


def find_removed_ids(db: str, session_ids: list[str]) -> set[str]:
    """Those of these sessions that were removed."""
    rows = RemovedSession.objects.using(db).filter(session_id__in=session_ids)
    return set(rows.values_list("session_id", flat=True))


def remove_session(
    db: str,
    session_id: str,
    *,
    before: int,
    needed_by: Callable[[str], str],
    why: str,
    archive: str = "",
    digest: str = "",
) -> Session | None:
    """Remove a session with all its rows in one transaction.

    Returns the session as it was, or None when it does not exist. Raises NotRemoved when it was active at `before`
    (milliseconds) or later, when `needed_by(session_id)` gives a sentence, or when its rows are not those of `digest`
    any more. Activity in the future does not count: whoever chose the session knows when it was imported. The sums of
    its days stay.
    """
    with transaction.atomic(using=db, durable=True):  # under the write lock: from here on nobody else changes it
        session = Session.objects.using(db).filter(id=session_id).first()
        if session is None:
            return None
        if before <= session.last_activity_at <= clock.now_ms():
            raise NotRemoved(_("The session has new activity."))
        if sentence := needed_by(session_id):
            raise NotRemoved(sentence)
        if digest and session_rows.compute_digest(db, session_id) != digest:
            raise NotRemoved(_("The session changed while being archived."))
        session_rows.delete_rows(db, session_id)
        RemovedSession.objects.using(db).update_or_create(
            session_id=session_id,
            defaults={
                "removed_at": clock.now_ms(),
                "why": why,
                "last_activity_at": session.last_activity_at,
                "record_count": session.record_count,
                "archive": archive,
            },
        )
    return session


def delete_session(db: str, session_id: str) -> list[str]:
    """Remove a session with its rows and sums; return the handles of its artifacts.

    It has a transaction of its own. No row of the removal is written in this file: the caller notes the reason
    elsewhere.
    """
    with transaction.atomic(using=db, durable=True):
        uses = Artifact.objects.using(db).filter(session_id=session_id).order_by()
        handles = list(uses.values_list("handle", flat=True).distinct())
        session_rows.delete_rows(db, session_id)
        SessionDay.objects.using(db).filter(session_id=session_id).delete()
        tool_days.remove_sums(db, session_id)
    return handles


def clear_remains(db: str, session_id: str) -> None:
    """Delete the remains of a removed session that comes back, in the caller's transaction."""
    if statements.read_row(db, IS_REMOVED, [session_id]):  # asked for every new session
        statements.stop_gathering()
        RemovedSession.objects.using(db).filter(session_id=session_id).delete()
        SessionDay.objects.using(db).filter(session_id=session_id).delete()
        tool_days.remove_sums(db, session_id)


def restore_session(db: str, session_id: str, rows: Iterable[tuple[str, dict[str, Any]]], *, digest: str) -> None:
    """Insert the rows of a session that is not stored, in the caller's transaction.

    Each row comes with the name of its table. Raises Refused when they are not all of this session, or are not those of
    `digest` once they are stored.
    """
    clear_remains(db, session_id)
    for name, table_rows in groupby(rows, key=itemgetter(0)):
        session_rows.insert_rows(db, session_id, session_rows.TABLES_BY_NAME[name], map(itemgetter(1), table_rows))
    tool_days.add_to_days(db, session_id)
    session_holdings.recount_holding(db, session_id)
    record_groups.fill_groups(db, session_id)
    if digest not in (session_rows.compute_digest(db, session_id, is_older=is_older) for is_older in (False, True)):
        raise Refused(_("The restored rows differ from the archive."))


def clean_up(db: str, *, little_room: bool = False) -> None:
    """Delete unused prompt reports, and return free pages to the file system.

    With `little_room` that is done in steps that need little disk space.
    """
    with transaction.atomic(using=db):
        used = Session.objects.using(db).filter(prompt_report__isnull=False).values("prompt_report_id")
        PromptReport.objects.using(db).exclude(id__in=used).delete()
    upkeep.give_back_free_pages(db, little_room=little_room)
