"""Queries that end in time: those of a page after seconds, counts after milliseconds. What only SQLite can do.

SQLite asks after every 5,000 of its steps whether to go on. Limits are a thread's: connections it opens heed them.
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
    """When queries of this thread are to end, in seconds of the monotonic clock."""

    page = NEVER
    box = NEVER
    boxes = 0


_limits = _Limits()


def limit_page(seconds):
    """End every query that runs in `seconds` from now with an OperationalError, until the limit is lifted."""
    _limits.page = time.monotonic() + seconds
    for connection in connections.all(initialized_only=True):
        _watch(connection)


def describe_slow_page():
    """What to say to whoever asked for a page that was stopped."""
    seconds = settings.PAGE_SECONDS
    sentence = ngettext(
        "This took longer than %(seconds)s second and was stopped. Narrow the filters, for example to fewer days.",
        "This took longer than %(seconds)s seconds and was stopped. Narrow the filters, for example to fewer days.",
        seconds,
    )
    return sentence % {"seconds": seconds}


def lift_page_limit():
    """Let queries run on: the page is there, or what is left is to say why it was stopped."""
    _limits.page = NEVER


def is_page_limit(exc):
    """Whether this failure of a query is the limit of the page, and no fault."""
    return isinstance(exc, OperationalError) and failures.is_interrupted(exc) and time.monotonic() > _limits.page


@contextmanager
def time_box(db, budget_ms):
    """End a query of this block that runs past `budget_ms`. Yields a function: whether a failure is just that."""
    connections[db].ensure_connection()
    before = _limits.box
    _limits.box = min(before, time.monotonic() + budget_ms / 1000)
    _limits.boxes += 1
    _watch(connections[db])
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


def _watch(connection, **_kwargs):
    if connection.vendor == "sqlite" and connection.connection is not None:
        connection.connection.set_progress_handler(_is_over, STEPS)


def _watch_new(connection, **_kwargs):
    if _limits.page != NEVER or _limits.boxes:
        _watch(connection)


connection_created.connect(_watch_new, dispatch_uid="openclaw_web.sqlite.time_limits")
