"""The audit log of operators, written in the transaction of each action.

It lies below every other app, because all of them write to it. Its page and its API are in `operations`.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from openclaw_web import clock
from openclaw_web.sqlite import rows

from ..models.bookkeeping import AuditEntry

READING = ("read", "fetched", "downloaded")  # actions that change nothing
MOST_ACTS = 500
_via = ContextVar("via", default="command")


def record(
    by: str, action: str, *, object_type: str = "", object_id: str = "", agent_id: str = "", **detail: object
) -> None:
    """Add an entry: `by` did `action` (past tense) to an object.

    `detail` is for numbers and names, never for content.
    """
    rows.insert_row(AuditEntry(**_build_row(by, action, object_type, object_id, agent_id, detail)))


def has_entry(action: str, *, object_type: str, object_id: str, agent_id: str, since: int) -> bool:
    """Whether an action on an object of an agent was recorded since a time (milliseconds)."""
    entries = AuditEntry.objects.filter(object_type=object_type, object_id=object_id, at__gte=since)
    return entries.filter(action=action, agent_id=agent_id).exists()


def find_latest_act(after: int = 0) -> int:
    """The id of the newest entry after `after` that is more than reading.

    `after` itself when there is none.
    """
    acts = AuditEntry.objects.filter(id__gt=after).exclude(action__in=READING).order_by("-id")
    return acts.values_list("id", flat=True).first() or after


def read_last_acts(since: int) -> dict[str, int]:
    """The time of the last action on each agent since a time (milliseconds).

    Only the newest MOST_ACTS actions are considered.
    """
    acts = AuditEntry.objects.filter(at__gte=since).exclude(action__in=READING).order_by("-at", "-id")
    return dict(reversed(list(acts.values_list("agent_id", "at")[:MOST_ACTS])))


@contextmanager
def act_via(via: str):
    """Set the means by which people act in the block: `page`, `api` or `job`.

    Outside of a block it is `command`.
    """
    token = _via.set(via)
    try:
        yield
    finally:
        _via.reset(token)


def set_via(via: str) -> None:
    """Make the means of the current block more exact, such as a certain token."""
    _via.set(via)


def _build_row(by, action, object_type, object_id, agent_id, detail):
    return {
        "at": clock.now_ms(),
        "actor": by,
        "via": _via.get(),
        "action": action,
        "object_type": object_type,
        "object_id": object_id,
        "agent_id": agent_id,
        "detail": detail,
    }
