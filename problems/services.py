"""Acts of people on problems and groups of errors: mark as seen, mute, unmute, close.

Muting needs a reason. Each act is in the audit log.
"""

import re
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from people.audit import log as audit

from .models import NOT_MUTED, Actable, ErrorGroup, Problem, State

LONGEST_REASON = 500
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def mark_seen(problem_id: str, *, by: str) -> Actable:
    """Store that a person has seen an open problem.

    The first person who did so stays.
    """
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN)
        if row.seen_at is None:
            _change(row, "problem_seen", by, seen_at=clock.now_ms(), seen_by=by)
    return row


def mute(problem_id: str, *, by: str, reason: str, until: str = "") -> Actable:
    """Mute an open problem until it is worse, gone and back, or the day `until` (YYYY-MM-DD, UTC) begins.

    Until then it is neither counted nor shown. Raises Refused without a reason, or for a day that has begun.
    """
    reason = reason.strip()
    if not reason:
        raise Refused(_("Enter the reason for muting."))
    if len(reason) > LONGEST_REASON:
        raise Refused(_("Enter a shorter reason: at most %(count)s characters.") % {"count": LONGEST_REASON})
    muted = {"muted_at": clock.now_ms(), "muted_by": by, "mute_reason": reason, "muted_until": _read_day(until)}
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN)
        _change(row, "problem_muted", by, state=State.MUTED, **_settle(row), **muted)
    return row


def unmute(problem_id: str, *, by: str) -> Actable:
    """Show a muted problem again."""
    with transaction.atomic():
        row = _find_in_state(problem_id, State.MUTED)
        _change(row, "problem_unmuted", by, state=State.OPEN, **NOT_MUTED)
    return row


def close(problem_id: str, *, by: str) -> Actable:
    """Close a problem although it may still be there.

    It opens again when it is worse, or gone and back; a group of errors when one of them occurs again.
    """
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN, State.MUTED)
        closed = {"closed_at": clock.now_ms(), "closed_by": by}
        _change(row, "problem_closed", by, state=State.CLOSED, **_settle(row), **closed)
    return row


def _read_day(text: str) -> int | None:
    """The first millisecond of a day to come; None for no day."""
    if not text:
        return None
    try:
        day = datetime.strptime(text if DAY.fullmatch(text) else "", "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as exc:
        raise Refused(_("Write days like 2026-02-21.")) from exc
    moment = round(day.timestamp()) * 1000
    if moment <= clock.now_ms():
        raise Refused(_("Choose a day to come. Muting ends when it begins, at 00:00 UTC."))
    return moment


def _settle(row: Actable) -> dict[str, int]:
    """The level from which on a problem is worse than a person found acceptable; groups of errors have none."""
    return {"settled_level": row.level} if isinstance(row, Problem) else {}


def _find_in_state(problem_id: str, *states: State) -> Any:
    """Return the row, in a transaction that no check comes between.

    Raises Refused in another state.
    """
    row = ErrorGroup.objects.filter(id=problem_id).first() or Problem.objects.get(id=problem_id)
    if row.state not in states:
        sentences = {
            State.OPEN: _("This problem is open already."),
            State.MUTED: _("This problem is muted. Unmute it first."),
            State.CLOSED: _("This problem is closed already."),
        }
        raise Refused(sentences[State(row.state)])
    return row


def _change(row: Any, action: str, by: str, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(update_fields=list(columns))
    details = {"object_type": "problem", "object_id": row.pk, "agent_id": row.agent_id}
    audit.record(by, action, **details, kind=row.kind)
