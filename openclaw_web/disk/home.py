"""Our home as a whole: who works in it while a restore wants to exchange it, and a restore that was killed meanwhile.

Everybody who works in a home holds a lock in it together with all others; a restore holds it alone. So whoever holds it
knows that the folder stays where it is, until the end.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from django.utils.translation import gettext as _

from ..errors import Refused
from . import locks

LOCK = Path("state") / locks.HOME
# In a home that is restored, until the one before it has been put aside.
RESTORE_MARK = Path("state") / "restoring"
_prepared: dict[Path, tuple[int, int]] = {}


def prepare(home: Path) -> None:
    """Make the folder of a home where there is none, after what a restore that was killed left has been put right."""
    _put_right(home)
    (home / "state").mkdir(parents=True, exist_ok=True)
    _prepared[home] = _identity(home)


def enter(home: Path) -> int:
    """Say that this process works in `home`, until the descriptor is closed or it and all that it forked have ended.

    Raises Refused while the home is being restored, and when its lock cannot be opened.
    """
    try:
        handle = locks.hold_lock(home / LOCK, shared=True, wait=False)
    except OSError as exc:
        raise Refused(_("%(file)s: %(why)s.") % {"file": home / LOCK, "why": exc.strerror}) from exc
    if handle is None:
        raise Refused(_("%(home)s is being restored. Try again after the restore.") % {"home": home})
    now = _identity(home)
    # Another home has its name since this process began: the keys that were read are not its keys.
    if not _is_file(handle, home / LOCK) or _prepared.get(home, now) != now:
        os.close(handle)
        raise Refused(_("%(home)s was restored a moment ago. Try again.") % {"home": home})
    return handle


def find_replaced_path(home: Path, now: datetime) -> Path:
    """Where the home goes that a restore replaces."""
    return _free(home.with_name(f"{home.name}.before-restore-{now:%Y%m%dT%H%M%SZ}"))


def get_parking_path(home: Path) -> Path:
    """Where it is for a moment on systems that cannot exchange two folders."""
    return home.with_name(f"{home.name}.between")


def put_back(home: Path) -> None:
    """Give the old home its name again, or put it aside when the restored one has it. Whoever calls holds its lock."""
    old = get_parking_path(home)
    if (home / RESTORE_MARK).exists():
        old.rename(find_replaced_path(home, datetime.now(UTC)))
        (home / RESTORE_MARK).unlink(missing_ok=True)
        return
    if home.exists() and not (home / "state" / "openclaw.sqlite").exists():
        home.rename(_free(home.with_name(f"{home.name}.blank")))  # made by who came while there was none
    if home.exists():  # somebody has filled it meanwhile
        old.rename(find_replaced_path(home, datetime.now(UTC)))
    else:
        old.rename(home)


def _put_right(home):
    """Give the old home its name back, or put it aside when the new one is there; a restore at work is waited for."""
    old = get_parking_path(home)
    while old.is_dir():
        try:
            handle = locks.hold_lock(old / LOCK)
        except FileNotFoundError:  # somebody else was quicker, or it is no home of ours
            return
        try:
            if not _is_file(handle, old / LOCK):
                continue
            put_back(home)
        finally:
            os.close(handle)


def _free(path):
    """A path like this one that nothing has."""
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def _identity(home):
    found = home.stat()
    return found.st_dev, found.st_ino


def _is_file(handle, path):
    """Whether `path` still leads to the opened file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
