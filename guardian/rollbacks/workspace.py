"""Writes memory files into workspaces; no other code writes there.

A file is one of the five memory files and is exchanged as a whole. An agent may write the same file at any moment, in
place or by renaming another over it. So what a file held is never overwritten: it is exchanged with a draft beside it,
and what came out is read again, for as long as somebody who had it open may still write to it. Links are not followed,
neither on the way to the folder nor in place of the file.
"""

import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.disk import link_exchange
from openclaw_web.errors import Refused

from ..files import MEMORY_FILES, MOST_BYTES

MOST_KEPT = 64 * 1024 * 1024  # of what an agent made of a displaced file
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
RIGHTS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotWritten(Refused):
    """The file may not be written, or the folder cannot be: nothing was written."""


class NotOurs(NotWritten):
    """Something else is where the file or the folder should be.

    It is a link, a second name, a device or a huge file.
    """


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file, and what it held when it was read.

    `handle` stays open, so that later writes to the same file are seen.
    """

    handle: int
    data: bytes
    stat_result: os.stat_result

    @property
    def sha256(self) -> str:
        """The hash of what it held."""
        return hashlib.sha256(self.data).hexdigest()

    def read_again(self) -> bytes:
        """Read what the open file holds by now, wherever it was moved.

        It returns at most one byte more than MOST_KEPT.
        """
        return _read(self.handle, MOST_KEPT)

    def check_writable(self, name: str) -> None:
        """Raise NotWritten for a file that nobody may write to: an exchange would not check."""
        if not self.stat_result.st_mode & 0o222:
            raise NotWritten(
                _("%(file)s is not written: %(problem)s.") % {"file": name, "problem": _("it is read-only")}
            )

    def close(self) -> None:
        os.close(self.handle)


class Folder:
    """The open folder of a workspace; made by `open_workspace`."""

    def __init__(self, handle: int):
        self.handle = handle

    def open_file(self, name: str) -> OpenFile | None:
        """Open and read a memory file; None where there is none.

        Raises NotWritten for what is no plain file.
        """
        if name not in MEMORY_FILES:
            raise NotWritten(_("%(file)s is not a memory file.") % {"file": name})
        return self._open(name, _find_problem)

    def check(self, name: str) -> None:
        """Raise NotWritten when a file could be read, and not be exchanged.

        Then the file or the folder is read-only.
        """
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=self.handle, effective_ids=True):
            words = {"file": name, "problem": _("its folder is read-only")}
            raise NotWritten(_("%(file)s is not written: %(problem)s.") % words)
        if file := self.open_file(name):
            file.close()
            file.check_writable(name)

    def open_draft(self, name: str) -> OpenFile | None:
        """Open and read a draft, which after an exchange holds what the file held.

        It is only read, so it may have a second name by now, or be longer.
        """
        return self._open(name, _find_type_problem)

    def _open(self, name, find_problem):
        while True:
            try:
                handle = os.open(name, FILE, dir_fd=self.handle)
            except FileNotFoundError:
                return None
            except OSError as exc:
                words = {"file": name, "reason": reasons.describe_os_error(exc)}
                kind = NotOurs if exc.errno == errno.ELOOP else NotWritten
                raise kind(_("%(file)s cannot be read: %(reason)s.") % words) from exc
            stat_result = os.fstat(handle)  # of what was opened: its name may lead elsewhere by now
            if stat_result.st_nlink:
                return self._build_open_file(name, handle, stat_result, find_problem(stat_result))
            os.close(handle)  # somebody put another file in its place at this moment

    def _build_open_file(self, name, handle, stat_result, problem):
        try:
            if problem:
                raise NotOurs(_("%(file)s is not written: %(problem)s.") % {"file": name, "problem": problem})
            return OpenFile(handle, _read(handle), stat_result)
        except BaseException:
            os.close(handle)
            raise

    def write_draft(self, name: str, data: bytes, like: OpenFile | None, *, target: str = "") -> None:
        """Write a new file and sync it, with the attributes of another one.

        They are mode, owner and extended attributes of `like`. `target` is the file that refusals name.
        """
        with _refuse_system_errors(target or name):
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                             dir_fd=self.handle)  # fmt: skip
            try:
                with os.fdopen(handle, "wb", closefd=False) as file:
                    file.write(data)
                if like is not None:
                    _copy_attributes(handle, like)
                os.fsync(handle)
            except BaseException:
                self.remove(name)
                raise
            finally:
                os.close(handle)

    def exchange(self, draft: str, name: str) -> bool:
        """Put a draft in the place of a file, which is then where the draft was.

        Both names are there all the time.

        Where the kernel cannot do that there is no file for a moment: False when somebody made a new one in it.
        """
        with _refuse_system_errors(name):
            is_done = _renameat2(self.handle, draft, name, RENAME_EXCHANGE) or link_exchange.exchange(
                self.handle, draft, aside_name(draft), name
            )
            os.fsync(self.handle)
            return is_done

    def create(self, draft: str, name: str) -> bool:
        """Give a draft the name of a file that is not there.

        Returns False, and does nothing, when there is one by now.
        """
        with _refuse_system_errors(name):
            try:
                os.link(draft, name, src_dir_fd=self.handle, dst_dir_fd=self.handle, follow_symlinks=False)
            except FileExistsError:
                return False
            self.remove(draft)
            os.fsync(self.handle)
            return True

    def move_aside(self, name: str, aside: str) -> None:
        """Move a file away without losing it."""
        with _refuse_system_errors(name):
            if not _renameat2(self.handle, name, aside, RENAME_NOREPLACE):
                # It can be put back by a link alone. Renamed, and not unlinked: by now it may be somebody's new file.
                link_exchange.check_links(self.handle, name, aside_name(aside))
                os.rename(name, aside, src_dir_fd=self.handle, dst_dir_fd=self.handle)
            os.fsync(self.handle)

    def put_back(self, aside: str, name: str) -> None:
        """Give a file that was moved aside its name again.

        It stays aside when somebody made a new file meanwhile.
        """
        with _refuse_system_errors(name):
            if not _renameat2(self.handle, aside, name, RENAME_NOREPLACE):
                link_exchange.give_name(self.handle, aside, name)
                self.remove(aside)
            os.fsync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a draft. A folder that somebody put in its place stays."""
        with _refuse_system_errors(name), suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(name, dir_fd=self.handle)

    def is_same(self, name: str, draft: str) -> bool:
        """Whether both names are of one file: then a step was not completed."""
        with _refuse_system_errors(name):
            return link_exchange.is_same(self.handle, name, draft)

    def end_exchange(self, draft: str, name: str) -> bool:
        """Complete, or take back, an exchange in several steps that a kill interrupted.

        False when somebody made a new file in between: that stays, and the old one is aside.
        """
        with _refuse_system_errors(draft):
            link_exchange.finish_exchange(self.handle, draft, aside_name(draft), name)
            return not link_exchange.exists(self.handle, aside_name(draft))


def aside_name(draft: str) -> str:
    """Return the name of a file that was moved away until its draft takes its place."""
    return f"{draft}.old"


@contextmanager
def open_workspace(path: Path) -> Iterator[Folder]:
    """Open the folder of a workspace.

    Raises NotWritten when it is not there, or a link is on the way to it.
    """
    if not path.is_absolute() or ".." in path.parts:
        raise NotWritten(_("The workspace %(path)s is not an absolute path.") % {"path": path})
    try:
        handle = os.open("/", FOLDER)  # one name after the other: the kernel would follow links between them
        for part in path.parts[1:]:
            try:
                inner = os.open(part, FOLDER, dir_fd=handle)
            finally:
                os.close(handle)
            handle = inner
    except OSError as exc:
        is_link = exc.errno in (errno.ELOOP, errno.ENOTDIR)
        reason = _("a folder in the path is a link") if is_link else reasons.describe_os_error(exc)
        words = {"path": path, "reason": reason}
        kind = NotOurs if is_link else NotWritten
        raise kind(_("The workspace %(path)s is not written: %(reason)s.") % words) from exc
    try:
        yield Folder(handle)
    finally:
        os.close(handle)


def _read(handle, most=MOST_BYTES):
    parts, remaining, position = [], most + 1, 0
    while remaining > 0 and (part := os.pread(handle, min(remaining, 1 << 20), position)):
        parts.append(part)
        position, remaining = position + len(part), remaining - len(part)
    return b"".join(parts)


def _find_type_problem(stat_result):
    return "" if stat.S_ISREG(stat_result.st_mode) else _("it is not a plain file")


def _find_problem(stat_result):
    if problem := _find_type_problem(stat_result):
        return problem
    if stat_result.st_nlink != 1:
        return _("it has a second name")
    if stat_result.st_size > MOST_BYTES:
        return _("it is larger than 5 MB")
    return ""


def _copy_attributes(handle, like):
    """Copy mode, owner and extended attributes from another file.

    An owner whom only root may give is left as it is.

    The bits with which a program runs as its owner are left out: that may be somebody else now, and this is no program.
    """
    for name in _list_attributes(like.handle):
        with suppress(PermissionError):
            os.setxattr(handle, name, os.getxattr(like.handle, name))
    with suppress(PermissionError):
        os.fchown(handle, like.stat_result.st_uid, like.stat_result.st_gid)
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (
        like.stat_result.st_uid,
        like.stat_result.st_gid,
    ):  # its agent might not read it any more
        raise NotWritten(_("Nothing was written: this site may not keep the owner and group of the file."))
    os.fchmod(handle, stat.S_IMODE(like.stat_result.st_mode) & RIGHTS)


def _list_attributes(handle):
    """Return the names of a file's extended attributes.

    There are none where the file system does not know them.
    """
    try:
        return os.listxattr(handle)
    except OSError as exc:
        if exc.errno == errno.ENOTSUP:
            return []
        raise


def _renameat2(folder, old, new, flags):
    """Rename with flags; False where the kernel does not know how to."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    if not libc.renameat2(folder, os.fsencode(old), folder, os.fsencode(new), flags):
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code))


@contextmanager
def _refuse_system_errors(name):
    try:
        yield
    except link_exchange.NoSecondName as exc:
        problem = _("this file system can neither exchange two files nor give a file a second name")
        raise NotWritten(_("%(file)s is not written: %(problem)s.") % {"file": name, "problem": problem}) from exc
    except OSError as exc:
        words = {"file": name, "reason": reasons.describe_os_error(exc)}
        raise NotWritten(_("%(file)s was not written: %(reason)s.") % words) from exc
