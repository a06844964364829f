"""Time limits of queries: seconds for a page, milliseconds for a count.

SQLite checks after every 5,000 of its steps whether to continue. Limits belong to a thread and apply to all of its
connections.
"""

import threading
import time
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connections
from django.db.backends.signals import connection_created
from django.utils.translation import ngettext

from . import failures

STEPS = 5_000
NEVER = float("inf")


class _Limits(threading.local):
    """The deadlines of this thread's queries, in seconds of the monotonic clock."""

    page = NEVER
    box = NEVER
    boxes = 0


_limits = _Limits()


def limit_page(seconds):
    """End all queries of this thread with an OperationalError `seconds` from now.

    The limit lasts until it is lifted.
    """
    _limits.page = time.monotonic() + seconds
    for connection in connections.all(initialized_only=True):
        _install_handler(connection)


def describe_slow_page():
    """The sentence for a person whose page was stopped."""
    seconds = settings.PAGE_SECONDS
    sentence = ngettext(
        "This took longer than %(seconds)s second and was stopped. Narrow the filters, for example to fewer days.",
        "This took longer than %(seconds)s seconds and was stopped. Narrow the filters, for example to fewer days.",
        seconds,
    )
    return sentence % {"seconds": seconds}


def lift_page_limit():
    """Lift the limit of the page, which is complete or was stopped."""
    _limits.page = NEVER


def is_page_limit(exc):
    """Whether a query failed because of the page's limit."""
    return isinstance(exc, OperationalError) and failures.is_interrupted(exc) and time.monotonic() > _limits.page


@contextmanager
def time_box(db, budget_ms):
    """End queries of this block that run past `budget_ms`.

    Yields a function that says whether a failure is due to this limit.
    """
    connections[db].ensure_connection()
    before = _limits.box
    _limits.box = min(before, time.monotonic() + budget_ms / 1000)
    _limits.boxes += 1
    _install_handler(connections[db])
    try:
        yield lambda exc: failures.is_interrupted(exc) and not is_page_limit(exc)
    finally:
        _limits.box = before
        _limits.boxes -= 1
        if _limits.page == NEVER and not _limits.boxes:
            connections[db].connection.set_progress_handler(None, 0)


def is_boxed():
    """Whether this thread is inside a time box."""
    return _limits.boxes > 0


def _is_over():
    return time.monotonic() > min(_limits.page, _limits.box)


def _install_handler(connection, **_kwargs):
    if connection.vendor == "sqlite" and connection.connection is not None:
        connection.connection.set_progress_handler(_is_over, STEPS)


def _install_on_new(connection, **_kwargs):
    if _limits.page != NEVER or _limits.boxes:
        _install_handler(connection)


connection_created.connect(_install_on_new, dispatch_uid="openclaw_web.sqlite.time_limits")
