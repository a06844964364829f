"""The one place that asks for the time, so that one fixture can set it; and how far stored times are believed.

A machine's clock may have been wrong when a time was stored. A time later than now counts as now, and is no reason to
wait for anything: stored times stay as they are, what reads them decides with these functions.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

DAY_MS = 86_400_000
_moved: ContextVar[int] = ContextVar("moved", default=0)  # milliseconds


def now_ms():
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000 + _moved.get()


@contextmanager
def shift_to(moment: int) -> Iterator[None]:
    """Let the block happen from another moment on: the demo's story has its own time."""
    token = _moved.set(_moved.get() + moment - now_ms())
    try:
        yield
    finally:
        _moved.reset(token)


def clamp(moment: int) -> int:
    """A stored time as far as it is believed: one later than now counts as now."""
    return min(moment, now_ms())


def is_future(moment: int) -> bool:
    """Whether a stored time lies in the future, so that it cannot be right."""
    return moment > now_ms()


def is_recent(moment: int, span_ms: int) -> bool:
    """Whether something happened within the last `span_ms`; what is said to come happened at an unknown time."""
    return 0 <= now_ms() - moment < span_ms


def is_lease_alive(until: int, lifetime_ms: int) -> bool:
    """Whether a lease is in force: one that would last longer than any does was taken by a clock that ran ahead."""
    return 0 < until - now_ms() <= lifetime_ms


def today_ms() -> tuple[int, int]:
    """The beginning of this UTC day and of the next one, for what is limited by day."""
    now = now_ms()
    start = now - now % DAY_MS
    return start, start + DAY_MS
