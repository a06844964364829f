"""Locks of the store: any number of adopters, or one process that clears.

Adopting holds the shared lock from before the first check of a blob until the rows that refer to it are committed, so
clearing, which takes the exclusive one, never removes what is about to be used. The locks end with the process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openclaw_web.disk import locks, publication

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def hold_adoption_lock(root: Path):
    """Hold the lock of a content becoming an artifact: others may adopt, nobody clears."""
    return _hold_lock(root / ".adopting.lock", shared=True)


def hold_clearing_lock(root: Path):
    """Hold the lock of removing blobs: nobody adopts."""
    return _hold_lock(root / ".adopting.lock")


def hold_publishing_lock(root: Path):
    """Hold the lock of naming finished files.

    The second of two writers with the same content finds the first one's.
    """
    return _hold_lock(root / ".publishing.lock")


@contextmanager
def _hold_lock(file: Path, *, shared: bool = False) -> Iterator[None]:
    handle = os.open(file, FLAGS, 0o600)
    try:
        publication.restrict(handle, 0o600)  # whatever the umask
        locks.take(handle, shared=shared)
        yield
    finally:
        os.close(handle)
