"""Who is alive: each run holds a lock on a file of its own, and the kernel lets go when it dies; so do servers."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from openclaw_web import home

# Held by whoever works in a home for longer, in its folder `state`: they say who it is. The last one is everybody's,
# and nobody has one of the others without it; so it alone keeps a home from being exchanged while somebody is in it.
SERVING, WORKING, COLLECTING, BACKING_UP = "serve.lock", "work.lock", "collect.lock", "backup.lock"
DOCTOR = "doctor.lock"
HOME_LOCKS = (SERVING, WORKING, COLLECTING, BACKING_UP, DOCTOR, home.LOCK.name)


@contextmanager
def holding(run_token: str) -> Iterator[None]:
    """Hold the lock of `run_token`. A run that is broken off leaves its file behind, unlocked: see `is_dead`."""
    file = _path(run_token)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        file.unlink(missing_ok=True)


def is_dead(run_token: str) -> bool | None:
    """Whether the process of `run_token` is gone; None when this machine cannot tell."""
    try:
        with _path(run_token).open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no such file, or a file system without locks
        return None
    return True


def forget(run_token: str) -> None:
    """Take the file of a dead run away."""
    _path(run_token).unlink(missing_ok=True)


@contextmanager
def working() -> Iterator[None]:
    """Say for the block that this process runs jobs of this home; any number of processes may."""
    with (settings.HOME_DIR / "state" / WORKING).open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield


@contextmanager
def alone(file: Path) -> Iterator[bool]:
    """Hold a lock file alone for the block; False when somebody else holds it."""
    with file.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _path(run_token):
    return settings.HOME_DIR / "state" / "running" / run_token.rpartition(":")[2]
