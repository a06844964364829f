"""A reserve file in the home, so that a full disk still lets us delete.

On a full disk SQLite can neither delete nor read, unless a server keeps the files beside the database open.

A file of a few megabytes lies in the home. A process that finds less free than it needs makes the file that much
shorter, and gives back what is free when it ends.
"""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ..sqlite import failures, files

FILE = Path("state") / "reserve"
BYTES = 4 * 1024 * 1024
TO_READ = 512 * 1024  # space for the files that SQLite needs beside the databases of a process
SPARE = 64 * 1024 * 1024  # space that has to stay free when the reserve is created
BLOCK = 4096
# Variables and folders in which SQLite looks for a place for temporary files.
TEMPORARY = ("SQLITE_TMPDIR", "TMPDIR")
OF_SYSTEM = ("/var/tmp", "/usr/tmp", "/tmp")  # noqa: S108
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_given = [0]  # bytes that this process has taken from the reserve


def release(home: Path, needed: int = BYTES) -> None:
    """Free `needed` bytes on the disk of `home`, as far as the reserve allows."""
    file = home / FILE
    if file.exists() and (missing := needed - shutil.disk_usage(home).free) > 0:
        size = file.stat().st_size
        new_size = max(0, size - missing) // BLOCK * BLOCK
        os.truncate(file, new_size)
        _given[0] += size - new_size


def give_back(home: Path) -> None:
    """Grow the reserve again by what this process took, as far as space allows.

    On a full disk the next process needs it again.
    """
    if _given[0]:
        _grow(home, min(_given[0], shutil.disk_usage(home).free))
        _given[0] = 0


def refill(home: Path) -> None:
    """Create or complete the reserve, when the disk has plenty of space."""
    missing = BYTES - _get_size(home)
    if missing > 0 and (home / FILE).parent.is_dir() and shutil.disk_usage(home).free >= SPARE + missing:
        _grow(home, missing)


def _get_size(home):
    return (home / FILE).stat().st_size if (home / FILE).exists() else 0


def _grow(home, byte_count):
    byte_count = min(byte_count, BYTES - _get_size(home)) // BLOCK * BLOCK
    handle = os.open(home / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file, suppress(OSError):  # another process took the space at this moment
        file.write(os.urandom(max(0, byte_count)))  # zeros take no room on file systems that compress


def choose_temporary_folder(home: Path) -> None:
    """Have SQLite write temporary files into the home when the usual folder has no space.

    Otherwise a full /tmp would fail an import although its home has space.
    """
    if not (home / FILE.parent).is_dir():  # before a restore, for example
        return
    usual = next((folder for folder in map(os.environ.get, TEMPORARY) if folder), None)
    folders = filter(None, (usual, *OF_SYSTEM))
    chosen = next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), None)
    if chosen is None or (is_short(Path(chosen)) and not is_short(home)):
        files.choose_temporary_folder(home / FILE.parent)


def is_short(home: Path) -> bool:
    """Whether the disk of `home` is nearly full.

    Work that would need space on the way is done in small steps then.
    """
    return shutil.disk_usage(home).free < SPARE


def is_full(exc: BaseException, home: Path) -> bool:
    """Whether a failure means that no space is left on the disk of `home`.

    Another disk may be the full one, such as that of the output.
    """
    if isinstance(exc, OSError):
        return exc.errno in FULL and (exc.errno != errno.ENOSPC or is_short(home) or not os.statvfs(home).f_favail)
    # SQLite reports an I/O error when there is no space for the files beside a database.
    is_odd = failures.is_of_disk(exc) and shutil.disk_usage(home).free < TO_READ
    return failures.is_full(exc) or is_odd
