"""Gives a finished file its name without ever replacing another file.

It also works where a file system refuses links or modes.
"""

import errno
import os
from pathlib import Path

from . import locks

# Errors of exFAT, FAT and mounts of other systems for calls that they cannot do.
REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


def publish(draft: Path, target: Path) -> None:
    """Give a draft a name that is free. Raises FileExistsError when it is taken.

    Afterwards the draft may be gone.

    A link, unlike a rename, fails where somebody else was first. Without links the folder is locked for the rename.
    """
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError as exc:
        if exc.errno not in REFUSED:
            raise
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            locks.take(folder)
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from exc
            draft.rename(target)
        finally:
            os.close(folder)


def restrict(path: Path | int, mode: int) -> None:
    """Set the mode of a file of ours.

    Where the file system refuses modes, those of its mount apply.
    """
    try:
        os.chmod(path, mode)  # noqa: PTH101 - of a descriptor, too
    except OSError as exc:
        is_ours = os.geteuid() in (0, os.stat(path).st_uid)  # noqa: PTH116
        if not is_ours or exc.errno not in REFUSED:
            raise
