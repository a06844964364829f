"""The current time, and how far stored times are trusted.

Only this module reads the clock, so that one fixture can set it.

The clock of a machine may have been wrong when a time was stored. A time later than now counts as now, and is never a
reason to wait. Stored times are not changed; their readers decide with these functions.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime

DAY_MS = 86_400_000
_moved: ContextVar[int] = ContextVar("moved", default=0)  # milliseconds


def now_ms():
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000 + _moved.get()


@contextmanager
def shift_to(moment: int) -> Iterator[None]:
    """Run the block at another time; the demo's story has its own time."""
    token = _moved.set(_moved.get() + moment - now_ms())
    try:
        yield
    finally:
        _moved.reset(token)


def clamp(moment: int) -> int:
    """A stored time, or now if the stored time is later."""
    return min(moment, now_ms())


def is_future(moment: int) -> bool:
    """Whether a stored time lies in the future, so that it cannot be right."""
    return moment > now_ms()


def is_recent(moment: int, span_ms: int) -> bool:
    """Whether a time lies within the last `span_ms` milliseconds.

    A time in the future does not: it says nothing about when something happened.
    """
    return 0 <= now_ms() - moment < span_ms


def day_of(moment: int) -> date:
    """The UTC day of a time in milliseconds."""
    return datetime.fromtimestamp(moment / 1000, UTC).date()


def format_utc(moment: int) -> str:
    """`2026-02-21 11:13:07 UTC`."""
    return f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def today_ms() -> tuple[int, int]:
    """The start of this UTC day and of the next one, in milliseconds."""
    now = now_ms()
    start = now - now % DAY_MS
    return start, start + DAY_MS
