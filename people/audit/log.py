"""The operator audit log: who did what, written in the transaction of what was done.

It lies below every other app because all of them write to it; its page and its API are in `operations`.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from openclaw_web import clock
from openclaw_web.sqlite import rows

from ..models.bookkeeping import AuditEntry

READING = ("read", "fetched", "downloaded")  # what changes nothing
MOST_ACTS = 500
_via = ContextVar("via", default="command")


def record(
    by: str, action: str, *, object_type: str = "", object_id: str = "", agent_id: str = "", **detail: object
) -> None:
    """Add an entry: `by` did `action` (past tense) to an object. `detail` is for numbers and names, never content."""
    rows.insert_row(AuditEntry(**_row(by, action, object_type, object_id, agent_id, detail)))


def has_entry(action: str, *, object_type: str, object_id: str, agent_id: str, since: int) -> bool:
    """Whether somebody did `action` to an object of an agent since a moment (milliseconds)."""
    entries = AuditEntry.objects.filter(object_type=object_type, object_id=object_id, at__gte=since)
    return entries.filter(action=action, agent_id=agent_id).exists()


def find_latest_act(after: int = 0) -> int:
    """The id of the newest entry after another one that is of more than reading; `after` when there is none."""
    acts = AuditEntry.objects.filter(id__gt=after).exclude(action__in=READING).order_by("-id")
    return acts.values_list("id", flat=True).first() or after


def read_last_acts(since: int) -> dict[str, int]:
    """When something was done to each agent last, of the newest acts since a moment."""
    acts = AuditEntry.objects.filter(at__gte=since).exclude(action__in=READING).order_by("-at", "-id")
    return dict(reversed(list(acts.values_list("agent_id", "at")[:MOST_ACTS])))


@contextmanager
def act_via(via: str):
    """Say for the block by what means people act: `page`, `api`, `job`; outside of one it is `command`."""
    token = _via.set(via)
    try:
        yield
    finally:
        _via.reset(token)


def set_via(via: str) -> None:
    """Be more exact inside a block of `acting_through`: which token it is."""
    _via.set(via)


def _row(by, action, object_type, object_id, agent_id, detail):
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
