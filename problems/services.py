"""Acts of people on problems: mark as seen, mute, unmute, close.

Muting needs a reason. Each act is in the audit log.
"""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from people.audit import log as audit

from .models import Problem

State = Problem.State
LONGEST_REASON = 500


def mark_seen(problem_id: str, *, by: str) -> Problem:
    """Store that a person has seen an open problem.

    The first person who did so stays.
    """
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN)
        if row.seen_at is None:
            _change(row, "problem_seen", by, seen_at=clock.now_ms(), seen_by=by)
    return row


def mute(problem_id: str, *, by: str, reason: str) -> Problem:
    """Mute an open problem until it is worse, or gone and back.

    Until then it is neither counted nor shown. Raises Refused without a reason.
    """
    reason = reason.strip()
    if not reason:
        raise Refused(_("Enter the reason for muting."))
    if len(reason) > LONGEST_REASON:
        raise Refused(_("Enter a shorter reason: at most %(count)s characters.") % {"count": LONGEST_REASON})
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN)
        muted = {"muted_at": clock.now_ms(), "muted_by": by, "mute_reason": reason}
        _change(row, "problem_muted", by, state=State.MUTED, settled_level=row.level, **muted)
    return row


def unmute(problem_id: str, *, by: str) -> Problem:
    """Show a muted problem again."""
    with transaction.atomic():
        row = _find_in_state(problem_id, State.MUTED)
        nothing = {"muted_at": None, "muted_by": "", "mute_reason": ""}
        _change(row, "problem_unmuted", by, state=State.OPEN, **nothing)
    return row


def close(problem_id: str, *, by: str) -> Problem:
    """Close a problem although it may still be there.

    It opens again when it is worse, or gone and back.
    """
    with transaction.atomic():
        row = _find_in_state(problem_id, State.OPEN, State.MUTED)
        closed = {"closed_at": clock.now_ms(), "closed_by": by}
        _change(row, "problem_closed", by, state=State.CLOSED, settled_level=row.level, **closed)
    return row


def _find_in_state(problem_id: str, *states: State) -> Problem:
    """Return the row, in a transaction that no check comes between.

    Raises Refused in another state.
    """
    row = Problem.objects.get(id=problem_id)
    if row.state not in states:
        sentences = {
            State.OPEN: _("This problem is open already."),
            State.MUTED: _("This problem is muted. Unmute it first."),
            State.CLOSED: _("This problem is closed already."),
        }
        raise Refused(sentences[State(row.state)])
    return row


def _change(row: Problem, action: str, by: str, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(update_fields=list(columns))
    details = {"object_type": "problem", "object_id": row.id, "agent_id": row.agent_id}
    audit.record(by, action, **details, kind=row.kind)
