"""Who may touch the store at the same time: any number of adopters, or one that clears away.

Adopting holds the shared lock from before the first look at a blob until the rows that refer to it are committed, so
clearing, which takes the exclusive one, never removes what is about to be used. The locks end with the process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openclaw_web.disk import locks, publication

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def hold_adoption_lock(root: Path):
    """While content becomes an artifact: others may adopt, nobody clears away."""
    return _held(root / ".adopting.lock", shared=True)


def hold_clearing_lock(root: Path):
    """While blobs are removed: nobody adopts."""
    return _held(root / ".adopting.lock")


def hold_publishing_lock(root: Path):
    """While finished files get their names: the second of two with the same content finds the first."""
    return _held(root / ".publishing.lock")


@contextmanager
def _held(file: Path, *, shared: bool = False) -> Iterator[None]:
    handle = os.open(file, FLAGS, 0o600)
    try:
        publication.restrict(handle, 0o600)  # whatever the umask
        locks.take(handle, shared=shared)
        yield
    finally:
        os.close(handle)
