"""State of the watcher for other processes: whether it runs, and refused folders.

It holds the lock of a file in the home, and touches the file. A refused import is a row of `kv`, by the path of the
folder, until any import of that folder succeeds.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from openclaw_web import clock
from openclaw_web.disk import locks
from people.models.bookkeeping import KeyValue
from problems.kinds import shorten

FILE = "watch.lock"
LOST_MS = 2 * 60_000  # `serve` restarts an ended watcher much earlier
SCOPE = "refused_watches"


class Refusal(NamedTuple):
    """The reason why the watcher cannot import a folder, and the time of the first refusal."""

    message: str
    since: int


@contextmanager
def expect_watcher(is_wanted: bool) -> Iterator[None]:
    """Report a missing watcher as a problem during the block.

    Without an expected watcher nothing is reported.
    """
    if is_wanted:
        note_alive()
    else:  # a killed watcher may have left the file
        _file().unlink(missing_ok=True)
    try:
        yield
    finally:
        _file().unlink(missing_ok=True)


@contextmanager
def hold_lock(*, is_expected: bool) -> Iterator[None]:
    """Hold the watcher's lock during the block.

    An unexpected watcher is reported as missing only when it was killed.
    """
    handle = locks.hold_lock(FILE, shared=True)
    try:
        note_alive()
        yield
    finally:
        if handle is not None:
            os.close(handle)
        if not is_expected:
            _file().unlink(missing_ok=True)


def note_alive() -> None:
    """Note that the watcher is running."""
    _file().touch(0o600)


def find_lost_time() -> int | None:
    """When a watcher that has disappeared last ran; None when none is missing."""
    try:
        noted_at = _file().stat().st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return None
    is_recent = abs(clock.now_ms() - noted_at) < LOST_MS
    return noted_at if not is_recent and locks.is_held(_file()) is False else None


def note_refusal(root: Path, message: str) -> None:
    """Note that the watcher's import of a folder was refused; the first time is kept."""
    known, now = read_refusals().get(str(root)), clock.now_ms()
    refusal = Refusal(shorten(message), known.since if known else now)
    if refusal != known:
        KeyValue.objects.put(SCOPE, str(root), refusal._asdict())


def forget_refusal(root: Path) -> None:
    """Note that an import of a folder succeeded."""
    rows = KeyValue.objects.filter(scope=SCOPE, key=str(root))
    if rows.exists():
        rows.delete()


def read_refusals() -> dict[str, Refusal]:
    """The folders whose last import by the watcher was refused."""
    return {key: Refusal(**value) for key, value in KeyValue.objects.filter(scope=SCOPE).decoded().items()}


def _file() -> Path:
    return settings.HOME_DIR / "state" / FILE
