"""Our home folder as a whole: locks against a restore, and repair after a killed one.

Every process that works in a home holds a shared lock in it; a restore holds the lock alone. So the holder of the lock
knows that the folder stays in place until it lets go.
"""

import os
import pwd
import shlex
from datetime import UTC, datetime
from pathlib import Path

from django.utils.translation import gettext as _

from ..errors import Refused
from . import locks, mounts

LONGEST = 350  # bytes: SQLite opens no file whose path has more than 512
LOCK = Path("state") / locks.HOME
# Exists in a restored home until the home before it has been put aside.
RESTORE_MARK = Path("state") / "restoring"
_prepared: dict[Path, tuple[int, int]] = {}
_is_left_alone = [False]
_may_be_of_another = [False]


def accept_other_owner() -> None:
    """Let root work in the home of another user, for whom it installs the service."""
    _may_be_of_another[0] = True


def leave_alone() -> None:
    """Have this process neither create a home nor look at one, for a command that needs none."""
    _is_left_alone[0] = True


def leave_to_other_owner(home: Path) -> None:
    """Have root create no home for the service, and nothing in one of another user.

    That user could have put links there, by which root would write to any file.
    """
    if not _may_be_of_another[0] or os.geteuid() != 0:
        return
    is_of_another = any(path.lstat().st_uid for path in (home, *home.parents) if os.path.lexists(path))
    if is_of_another or not os.path.lexists(home):
        _is_left_alone[0] = True


def is_left_alone() -> bool:
    """Whether this process only looks at homes, at most."""
    return _is_left_alone[0]


def find_problem(home: Path, *, may_be_remote: bool = False) -> str:
    """Describe why a folder cannot be a home; "" when nothing is known against it.

    The text is English, because the settings are not read yet. Errors of the system are left to the first use.
    """
    if len(os.fsencode(home)) > LONGEST:
        return f"The path has more than {LONGEST} bytes, which is too long for SQLite."
    if home.is_symlink() and not home.exists():
        return f"It is a link to {str(home.readlink())!r}, which does not exist."
    # The folder itself, or the nearest one above it that exists.
    folder = next(folder for folder in (home, *home.parents) if folder.exists())
    if problem := _find_owner_problem(folder):
        return problem
    file_system = None if may_be_remote else mounts.find_file_system(folder)
    if file_system and file_system.is_remote:
        return (
            f"It is on a network disk or a shared folder ({file_system.kind}), where SQLite loses data when two "
            "processes write. Move the folder to a disk of this machine, or set OPENCLAW_WEB_NETWORK_DISK=1 if that is "
            "wrong."
        )
    return ""


def prepare(home: Path) -> None:
    """Create the folder of a home if it is missing.

    What a killed restore left behind is put right before.
    """
    _undo_killed_restore(home)
    (home / "state").mkdir(parents=True, exist_ok=True)
    _prepared[home] = _get_identity(home)


def enter(home: Path) -> int:
    """Register this process as working in `home`, and return the descriptor of the lock.

    The registration ends when the descriptor is closed, or when this process and all that it forked have ended.

    Raises Refused while the home is being restored, and when its lock cannot be opened.
    """
    try:
        handle = locks.hold_lock(home / LOCK, shared=True, wait=False)
    except OSError as exc:
        raise Refused(_("%(file)s: %(why)s.") % {"file": home / LOCK, "why": exc.strerror}) from exc
    if handle is None:
        raise Refused(_("%(home)s is being restored. Try again after the restore.") % {"home": home})
    now = _get_identity(home)
    # Another home has this name since this process began: the keys that were read belong to the old one.
    if not _is_file(handle, home / LOCK) or _prepared.get(home, now) != now:
        os.close(handle)
        raise Refused(_("%(home)s was restored a moment ago. Try again.") % {"home": home})
    return handle


def find_replaced_path(home: Path, now: datetime) -> Path:
    """A free path for the home that a restore replaces."""
    return _find_free_path(home.with_name(f"{home.name}.before-restore-{now:%Y%m%dT%H%M%SZ}"))


def get_parking_path(home: Path) -> Path:
    """The temporary path of the old home on systems that cannot exchange two folders."""
    return home.with_name(f"{home.name}.between")


def put_back(home: Path) -> None:
    """Give the old home its name again, or put it aside if another has it.

    The caller holds the lock of the old home.
    """
    old = get_parking_path(home)
    if (home / RESTORE_MARK).exists():
        old.rename(find_replaced_path(home, datetime.now(UTC)))
        (home / RESTORE_MARK).unlink(missing_ok=True)
        return
    if home.exists() and not (home / "state" / "openclaw.sqlite").exists():
        home.rename(_find_free_path(home.with_name(f"{home.name}.blank")))  # created while there was no home
    if home.exists():  # a process has filled it meanwhile
        old.rename(find_replaced_path(home, datetime.now(UTC)))
    else:
        old.rename(home)


def _find_owner_problem(folder):
    """Describe why root must not work in a folder of somebody else."""
    owner = folder.stat().st_uid
    if os.geteuid() != 0 or owner == 0 or _may_be_of_another[0]:
        return ""
    name = _find_user_name(owner)
    return (
        f"{folder} belongs to {name}, who could not read the files that root creates there. Run the command as this "
        f"user (sudo -u {shlex.quote(name)} -H openclaw-web ...), or name a folder that belongs to root."
    )


def _find_user_name(number):
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # of another machine or container
        return f"#{number}"


def _undo_killed_restore(home):
    """Give the old home its name back, or put it aside if the new one exists.

    Waits for a restore that is still running.
    """
    old = get_parking_path(home)
    while old.is_dir():
        try:
            handle = locks.hold_lock(old / LOCK)
        except FileNotFoundError:  # another process was quicker, or the folder is no home of ours
            return
        try:
            if not _is_file(handle, old / LOCK):
                continue
            put_back(home)
        finally:
            os.close(handle)


def _find_free_path(path):
    """A path like this one that does not exist yet."""
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _get_identity(home):
    status = home.stat()
    return status.st_dev, status.st_ino


def _is_file(handle, path):
    """Whether `path` still leads to the opened file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (status.st_dev, status.st_ino) == (opened.st_dev, opened.st_ino)
