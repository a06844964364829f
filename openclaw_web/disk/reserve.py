"""Room for who makes room: on a full disk SQLite can neither delete nor, without the files of a server beside it, read.

A file of a few megabytes lies in the home. A process that finds less free than it needs makes the file that much
shorter, and gives back what is free when it ends.
"""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ..sqlite import failures

FILE = Path("state") / "reserve"
BYTES = 4 * 1024 * 1024
TO_READ = 512 * 1024  # what SQLite needs beside the databases that a process opens
SPARE = 64 * 1024 * 1024  # what has to stay free when it is made
BLOCK = 4096
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_given = [0]  # bytes that this process has taken from the reserve


def release(home: Path, wanted: int = BYTES) -> None:
    """Have `wanted` bytes free on the disk of `home`, as far as the reserve goes."""
    file = home / FILE
    if file.exists() and (missing := wanted - shutil.disk_usage(home).free) > 0:
        size = file.stat().st_size
        left = max(0, size - missing) // BLOCK * BLOCK
        os.truncate(file, left)
        _given[0] += size - left


def give_back(home: Path) -> None:
    """Put back what this process took, as far as it is free: on a disk that is full, the next one needs it again."""
    if _given[0]:
        _grow(home, min(_given[0], shutil.disk_usage(home).free))
        _given[0] = 0


def refill(home: Path) -> None:
    """Make the reserve, or make it whole, where the disk has plenty of room."""
    missing = BYTES - _size(home)
    if missing > 0 and (home / FILE).parent.is_dir() and shutil.disk_usage(home).free >= SPARE + missing:
        _grow(home, missing)


def _size(home):
    return (home / FILE).stat().st_size if (home / FILE).exists() else 0


def _grow(home, more):
    more = min(more, BYTES - _size(home)) // BLOCK * BLOCK
    handle = os.open(home / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as made, suppress(OSError):  # somebody else took the room in this moment
        made.write(os.urandom(max(0, more)))  # zeros take no room on file systems that compress


def is_short(home: Path) -> bool:
    """Whether the disk of `home` is nearly full: what would take room on the way is done in small steps."""
    return shutil.disk_usage(home).free < SPARE


def is_full(exc: BaseException, home: Path) -> bool:
    """Whether a failure says that there is no room left."""
    if isinstance(exc, OSError):
        return exc.errno in FULL
    # SQLite calls it an I/O error when there is no room for the files beside a database.
    is_odd = failures.is_of_disk(exc) and shutil.disk_usage(home).free < TO_READ
    return failures.is_full(exc) or is_odd
