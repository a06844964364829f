"""The only way anything is written into a workspace: one of the five memory files, exchanged as a whole.

An agent may write the same file at any moment, in place or by renaming another over it. So what a file held is never
overwritten: it is exchanged with a draft beside it, and what came out is read again, for as long as somebody who had
it open may still write to it. Nothing is followed: neither links on the way to the folder nor one in place of the file.
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
    """Nothing was written: the file is none of ours to write, or the folder cannot be written."""


class NotOurs(NotWritten):
    """Something else is where the file or the folder should be: a link, a second name, a device, a huge file."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """What a file held when it was read; `handle` stays open, so that later writes to the same file are seen."""

    handle: int
    data: bytes
    about: os.stat_result

    @property
    def sha256(self) -> str:
        """The hash of what it held."""
        return hashlib.sha256(self.data).hexdigest()

    def read_again(self) -> bytes:
        """What the opened file holds by now, wherever it was moved; at most one byte more than MOST_KEPT."""
        return _read(self.handle, MOST_KEPT)

    def check_writable(self, name: str) -> None:
        """Raises NotWritten for a file that nobody may write to: an exchange would not ask."""
        if not self.about.st_mode & 0o222:
            raise NotWritten(
                _("%(file)s is not written: %(problem)s.") % {"file": name, "problem": _("it is read-only")}
            )

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.handle)


class Folder:
    """The opened folder of a workspace; made by `opened`."""

    def __init__(self, handle: int):
        self.handle = handle

    def open_file(self, name: str) -> OpenFile | None:
        """What is in a memory file, opened; None where there is none. Raises NotWritten for what is no plain file."""
        if name not in MEMORY_FILES:
            raise NotWritten(_("%(file)s is not a memory file.") % {"file": name})
        return self._opened(name, _why_not)

    def check(self, name: str) -> None:
        """Raises NotWritten when a file could be read, and not be exchanged: it is read-only, or the folder is."""
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=self.handle, effective_ids=True):
            words = {"file": name, "problem": _("its folder is read-only")}
            raise NotWritten(_("%(file)s is not written: %(problem)s.") % words)
        if held := self.open_file(name):
            held.close()
            held.check_writable(name)

    def open_draft(self, name: str) -> OpenFile | None:
        """The same for a draft of ours, which after an exchange holds what the file held: it is only read, so it may
        have a second name by now, or be longer.
        """
        return self._opened(name, _why_no_file)

    def _opened(self, name, why_not):
        while True:
            try:
                handle = os.open(name, FILE, dir_fd=self.handle)
            except FileNotFoundError:
                return None
            except OSError as exc:
                words = {"file": name, "reason": reasons.describe_os_error(exc)}
                kind = NotOurs if exc.errno == errno.ELOOP else NotWritten
                raise kind(_("%(file)s cannot be read: %(reason)s.") % words) from exc
            about = os.fstat(handle)  # of what was opened: its name may lead elsewhere by now
            if about.st_nlink:
                return self._held(name, handle, about, why_not(about))
            os.close(handle)  # somebody put another file in its place at this moment

    def _held(self, name, handle, about, problem):
        try:
            if problem:
                raise NotOurs(_("%(file)s is not written: %(problem)s.") % {"file": name, "problem": problem})
            return OpenFile(handle, _read(handle), about)
        except BaseException:
            os.close(handle)
            raise

    def write_draft(self, name: str, data: bytes, like: OpenFile | None, *, of: str = "") -> None:
        """Write a new file and sync it, with mode, owner and extended attributes of another one. `of`: for whom."""
        with _refusing(of or name):
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                             dir_fd=self.handle)  # fmt: skip
            try:
                with os.fdopen(handle, "wb", closefd=False) as file:
                    file.write(data)
                if like is not None:
                    _make_like(handle, like)
                os.fsync(handle)
            except BaseException:
                self.remove(name)
                raise
            finally:
                os.close(handle)

    def exchange(self, draft: str, name: str) -> bool:
        """Put a draft in the place of a file, which is then where the draft was. Both names are there all the time.

        Where the kernel cannot do that there is no file for a moment: False when somebody made a new one in it.
        """
        with _refusing(name):
            is_done = _renameat2(self.handle, draft, name, RENAME_EXCHANGE) or link_exchange.exchange(
                self.handle, draft, aside_name(draft), name
            )
            os.fsync(self.handle)
            return is_done

    def create(self, draft: str, name: str) -> bool:
        """Give a draft the name of a file that is not there; False, and nothing done, when there is one by now."""
        with _refusing(name):
            try:
                os.link(draft, name, src_dir_fd=self.handle, dst_dir_fd=self.handle, follow_symlinks=False)
            except FileExistsError:
                return False
            self.remove(draft)
            os.fsync(self.handle)
            return True

    def move_aside(self, name: str, aside: str) -> None:
        """Take a file away without losing it."""
        with _refusing(name):
            if not _renameat2(self.handle, name, aside, RENAME_NOREPLACE):
                # It can be put back by a link alone. Renamed, and not unlinked: by now it may be somebody's new file.
                link_exchange.check_links(self.handle, name, aside_name(aside))
                os.rename(name, aside, src_dir_fd=self.handle, dst_dir_fd=self.handle)
            os.fsync(self.handle)

    def put_back(self, aside: str, name: str) -> None:
        """Give what was moved aside its name again; it stays aside when somebody made a new file meanwhile."""
        with _refusing(name):
            if not _renameat2(self.handle, aside, name, RENAME_NOREPLACE):
                link_exchange.give_name(self.handle, aside, name)
                self.remove(aside)
            os.fsync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a draft. A folder that somebody put in its place stays."""
        with _refusing(name), suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(name, dir_fd=self.handle)

    def is_same(self, name: str, draft: str) -> bool:
        """Whether both names are of one file: a step in which it has two was not completed."""
        with _refusing(name):
            return link_exchange.is_same(self.handle, name, draft)

    def end_exchange(self, draft: str, name: str) -> bool:
        """Complete, or take back, what a kill left of an exchange that this kernel does in several steps.

        False when somebody made a new file in between: that stays, and the old one is aside.
        """
        with _refusing(draft):
            link_exchange.finish_exchange(self.handle, draft, aside_name(draft), name)
            return not link_exchange.exists(self.handle, aside_name(draft))


def aside_name(draft: str) -> str:
    """The name of a file that was moved away, until its draft has taken its place."""
    return f"{draft}.old"


@contextmanager
def open_workspace(path: Path) -> Iterator[Folder]:
    """The folder of a workspace. Raises NotWritten when it is not there, or a link is on the way to it."""
    if not path.is_absolute() or ".." in path.parts:
        raise NotWritten(_("The workspace %(path)s is not an absolute path.") % {"path": path})
    try:
        handle = _step_into(path)
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


def _step_into(path):
    """The folder, opened from the root on, one name after the other: the kernel would follow links between them."""
    handle = os.open("/", FOLDER)
    for part in path.parts[1:]:
        try:
            inner = os.open(part, FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _read(handle, most=MOST_BYTES):
    parts, left, place = [], most + 1, 0
    while left > 0 and (part := os.pread(handle, min(left, 1 << 20), place)):
        parts.append(part)
        place, left = place + len(part), left - len(part)
    return b"".join(parts)


def _why_no_file(about):
    return "" if stat.S_ISREG(about.st_mode) else _("it is not a plain file")


def _why_not(about):
    if problem := _why_no_file(about):
        return problem
    if about.st_nlink != 1:
        return _("it has a second name")
    if about.st_size > MOST_BYTES:
        return _("it is larger than 5 MB")
    return ""


def _make_like(handle, like):
    """Mode, owner and extended attributes. An owner whom only root may give is left as it is.

    The bits with which a program runs as its owner are left out: that may be somebody else now, and this is no program.
    """
    for name in _attributes(like.handle):
        with suppress(PermissionError):
            os.setxattr(handle, name, os.getxattr(like.handle, name))
    with suppress(PermissionError):
        os.fchown(handle, like.about.st_uid, like.about.st_gid)
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (like.about.st_uid, like.about.st_gid):  # its agent might not read it any more
        raise NotWritten(_("Nothing was written: this site may not keep the owner and group of the file."))
    os.fchmod(handle, stat.S_IMODE(like.about.st_mode) & RIGHTS)


def _attributes(handle):
    """The names of the extended attributes of a file; none where the file system has no such thing."""
    try:
        return os.listxattr(handle)
    except OSError as exc:
        if exc.errno == errno.ENOTSUP:
            return []
        raise


def _renameat2(folder, old, new, flags):
    """Whether the kernel did it; False where it does not know how to."""
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
def _refusing(name):
    try:
        yield
    except link_exchange.NoSecondName as exc:
        problem = _("this file system can neither exchange two files nor give a file a second name")
        raise NotWritten(_("%(file)s is not written: %(problem)s.") % {"file": name, "problem": problem}) from exc
    except OSError as exc:
        words = {"file": name, "reason": reasons.describe_os_error(exc)}
        raise NotWritten(_("%(file)s was not written: %(reason)s.") % words) from exc
