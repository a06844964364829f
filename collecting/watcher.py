"""Whether a watcher that was started is still there: a file in the home that it holds the lock of, and touches."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from openclaw_web import clock
from openclaw_web.disk import locks

FILE = "watch.lock"
LOST_MS = 2 * 60_000  # `serve` starts a watcher that ended again well before


@contextmanager
def expected(is_wanted: bool) -> Iterator[None]:
    """For the block, which keeps a watcher up, its absence is a problem; without one nobody misses it."""
    if is_wanted:
        note_alive()
    else:  # one that was killed may have left it
        _file().unlink(missing_ok=True)
    try:
        yield
    finally:
        _file().unlink(missing_ok=True)


@contextmanager
def holding(*, is_expected: bool) -> Iterator[None]:
    """Be the watcher for the block. One that nobody expects is missed only when it was killed."""
    handle = locks.held(FILE, shared=True)
    try:
        note_alive()
        yield
    finally:
        if handle is not None:
            os.close(handle)
        if not is_expected:
            _file().unlink(missing_ok=True)


def note_alive() -> None:
    """Note that the watcher is at work."""
    _file().touch(0o600)


def lost_at() -> int | None:
    """When a watcher was last at work that is gone now; None when none is missed."""
    try:
        noted_at = _file().stat().st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return None
    is_recent = abs(clock.now_ms() - noted_at) < LOST_MS
    return noted_at if not is_recent and locks.is_held(_file()) is False else None


def _file() -> Path:
    return settings.HOME_DIR / "state" / FILE
