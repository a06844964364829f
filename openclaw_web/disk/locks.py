"""All locks on files; the kernel releases a lock when its process ends, killed or not."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from ..errors import Refused

# Locks of long-running processes, in the folder `state` of the home; each says which kind of process runs. Every
# process holds the last one too, so it alone keeps a home from being exchanged while it is in use.
SERVING, WORKING, COLLECTING, BACKING_UP = "serve.lock", "work.lock", "collect.lock", "backup.lock"
DOCTOR, HOME = "doctor.lock", "home.lock"
HOME_LOCKS = (SERVING, WORKING, COLLECTING, BACKING_UP, DOCTOR, HOME)


def take(handle: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file until it is closed; False when another process has the lock.

    Without `wait` it does not wait for that process.

    A shared lock is held together with others that are shared.
    """
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(handle, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def hold_lock(file: str | Path, *, shared: bool = False, wait: bool = True) -> int | None:
    """A descriptor that holds a lock; None when another process has it and `wait` is false.

    The lock ends when the descriptor is closed, or when this process and all that it forked have ended.

    `file` is made where there is none; a name alone is one in the folder `state` of our home.
    """
    handle = _open_lock_file(file)
    is_ours = False
    try:
        is_ours = take(handle, shared=shared, wait=wait)
    finally:
        if not is_ours:
            os.close(handle)
    return handle if is_ours else None


@contextmanager
def lock(
    file: str | Path, *, shared: bool = False, wait: bool = True, before_waiting: Callable[[], None] | None = None
) -> Iterator[bool]:
    """Hold a lock for the block; False when another process has it, without `wait`.

    `file` is as for `hold_lock`. `before_waiting` is called when the lock is not free at once.

    The file is opened anew each time: a descriptor that a fork inherited would share the lock with its parent.
    """
    handle = _open_lock_file(file)
    try:
        if before_waiting and not take(handle, shared=shared, wait=False):
            before_waiting()
        yield take(handle, shared=shared, wait=wait)
    finally:
        os.close(handle)


@contextmanager
def exclusive_lock(file: str | Path, sentence: str) -> Iterator[None]:
    """Hold a lock for the block; raises Refused with `sentence` when another process has it."""
    with lock(file, wait=False) as is_ours:
        if not is_ours:
            raise Refused(sentence)
        yield


def is_held(file: Path) -> bool | None:
    """Whether a process has the lock of a file.

    None when there is no such file, or when this machine cannot tell.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return not take(handle, shared=True, wait=False)  # shared: two checks at once do not see each other
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(handle)


@contextmanager
def hold_run_lock(run_token: str) -> Iterator[None]:
    """Hold the lock of `run_token` for the block.

    A run that is broken off leaves its file behind, unlocked: see `is_run_dead`.
    """
    file = _get_run_path(run_token)
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock(file):
        yield
        file.unlink(missing_ok=True)


def is_run_dead(run_token: str) -> bool | None:
    """Whether the process of `run_token` has ended; None when this machine cannot tell."""
    is_alive = is_held(_get_run_path(run_token))
    return None if is_alive is None else not is_alive


def remove_run_lock(run_token: str) -> None:
    """Remove the lock file of a dead run."""
    _get_run_path(run_token).unlink(missing_ok=True)


def _open_lock_file(file):
    path = settings.HOME_DIR / "state" / file if isinstance(file, str) else file
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _get_run_path(run_token):
    return settings.HOME_DIR / "state" / "running" / run_token.rpartition(":")[2]
