"""Copies databases of other programs before they are opened.

Opening a database in place would write beside it.

A copy is the file and its `-wal`; SQLite creates the `-shm` again. Copies are in a folder of our home that only we may
read, and are removed when they have been read. A process that was killed leaves its folder; the next process that
copies removes it.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.disk import locks
from openclaw_web.pages.formatting import size as in_words

from .homes import NotReadable, open_regular

CHUNK = 1024 * 1024
SPARE_BYTES = 64 * 1024 * 1024  # bytes that must remain free after a copy
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)  # seconds between attempts while the source changes
WAL, JOURNAL = "-wal", "-journal"
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
DATABASE_HEADER, WAL_HEADER = 100, 32


class NotCopied(Exception):
    """There is no consistent copy: too little room, or the source kept changing."""


class _Torn(Exception):
    """The source changed while it was copied."""


@dataclass(slots=True)
class Copy:
    """A database as it was at one moment.

    `is_checked` belongs to the reader of a copy: a kept copy is checked once.
    """

    path: Path
    size: int
    is_checked: bool = False
    source: tuple[int, ...] = ()  # state of the source's file
    wal: tuple[int, ...] = ()  # and of its -wal


class Copies:
    """The copies of one process.

    With `is_kept` they are kept, and only a `-wal` that changed is copied again. They are below `parent`, a folder that
    only we may read; by default in our home.
    """

    def __init__(self, *, is_kept: bool = False, parent: Path | None = None):
        self.is_kept = is_kept
        self._parent = parent or _parent()
        self._known: dict[Path, Copy] = {}
        self._folder: Path | None = None
        self._lock: int | None = None

    def __enter__(self) -> "Copies":
        """Remove leftovers of killed processes, and return the copies.

        Done here because it is not known yet whether this process needs a copy.
        """
        if self._parent.is_dir():
            with _lock_copies(self._parent):
                remove_leftovers(self._parent)
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove every copy of this process."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None
        self._known.clear()

    def get_path(self, name: str) -> Path:
        """Return the path for another file that is removed with the copies."""
        return self._ensure_folder() / name

    @contextmanager
    def open_copy(self, root: Path, source: Path) -> Iterator[Copy]:
        """Copy the database `source` of the home `root`, for the time of the block.

        Raises NotReadable for a file that is not opened, and NotCopied with a sentence.
        """
        copy = self._refresh(root, source)
        try:
            yield copy
        finally:
            _remove(copy.path, ("-shm",) if self.is_kept else ("", WAL, "-shm"))

    def _refresh(self, root, source):
        known = self._known.get(source)
        for pause in (*PAUSES, None):
            try:
                copy = self._copy_database(root, source, known)
            except _Torn as exc:
                if pause is None:
                    raise NotCopied(_("the file kept changing while it was copied")) from exc
                time.sleep(pause)
            except OSError as exc:
                raise NotCopied(reasons.describe_os_error(exc)) from exc
            else:
                if self.is_kept:
                    self._known[source] = copy
                return copy
        raise NotCopied(_("the file kept changing while it was copied"))

    def _copy_database(self, root, source, known):
        with open_regular(root, source) as database:
            before = _read_state(database, DATABASE_HEADER)
            _refuse_journal(root, source)
            with _open_wal(root, source) as wal:
                wal_before = _read_state(wal, WAL_HEADER) if wal else ()
                copy = known if known and known.source == before[1:] else None
                if copy and copy.wal == wal_before[1:]:
                    return copy
                if copy is None:
                    self._check_room(source, before[0] + (wal_before[0] if wal else 0))
                    copy = Copy(self._choose_path(source, known), before[0], source=before[1:])
                    _write(database, copy.path)
                else:
                    self._check_room(source, wal_before[0] if wal else 0)
                target = copy.path.with_name(copy.path.name + WAL)
                _remove(copy.path, ("-shm", WAL))
                if wal:
                    _write(wal, target)
                if _read_state(database, DATABASE_HEADER) != before or _has_changed(wal, wal_before):
                    raise _Torn
        if (wal is None) != (not _exists(source, WAL)):
            raise _Torn
        copy.wal = wal_before[1:]
        copy.is_checked = copy.is_checked and copy is known
        return copy

    def _check_room(self, source, size):
        free = shutil.disk_usage(self._ensure_folder()).free
        if size + SPARE_BYTES > free:
            sizes = {"size": in_words(size), "spare": in_words(SPARE_BYTES), "free": in_words(free)}
            words = _("a copy needs %(size)s and must leave %(spare)s free, but only %(free)s are free")
            raise NotCopied(words % sizes)

    def _choose_path(self, source, known):
        return (
            known.path if known else self._ensure_folder() / f"{len(self._known)}-{time.monotonic_ns()}-{source.name}"
        )

    def _ensure_folder(self):
        if self._folder is None:
            self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _lock_copies(self._parent):
                remove_leftovers(self._parent)
                self._folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._parent))
                self._lock = locks.hold_lock(self._folder / "lock")
        return self._folder


def _parent():
    return settings.HOME_DIR / "state" / "copies"


def _lock_copies(parent):
    """Lock the folders of all copies, so that no new folder counts as a leftover."""
    return locks.lock(parent / "lock")


def find_leftovers() -> list[Path]:
    """Return folders of copies whose process has ended."""
    parent = _parent()
    if not parent.is_dir():
        return []
    with _lock_copies(parent):
        return sorted(entry for entry in parent.iterdir() if entry.is_dir() and not locks.is_held(entry / "lock"))


def remove_leftovers(parent: Path) -> int:
    """Remove the folders of ended processes, and return how many there were.

    Their locks ended with the processes.
    """
    removed = 0
    for folder in [entry for entry in parent.iterdir() if entry.is_dir()]:
        with locks.lock(folder / "lock", wait=False) as is_leftover:
            if is_leftover:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def stat_wal(source: Path) -> os.stat_result | None:
    """Return the stat of a database's `-wal`; None when it is missing or empty."""
    with suppress(OSError):
        stat = source.with_name(source.name + WAL).lstat()
        return stat if stat.st_size else None
    return None


def _read_state(file, header):
    """Return the size of a file, and values that must not change while it is copied."""
    stat = os.fstat(file.fileno())
    first = os.pread(file.fileno(), header, 0)
    return (stat.st_size, stat.st_ino, stat.st_size, stat.st_mtime_ns, hash(first))


def _has_changed(wal, before):
    """Return whether a log changed in another way than by growing.

    A grown log is as good: an incomplete frame at its end is not read.
    """
    if not wal:
        return False
    size, inode, _size, _mtime, header = _read_state(wal, WAL_HEADER)
    return size < before[0] or (inode, header) != (before[1], before[4])


@contextmanager
def _open_wal(root, source):
    if not _exists(source, WAL):
        yield None
        return
    try:
        opened = open_regular(root, source.with_name(source.name + WAL))
    except NotReadable as exc:
        if _exists(source, WAL):
            raise
        raise _Torn from exc  # removed in this moment
    with opened:
        yield opened


def _refuse_journal(root, source):
    """Raise _Torn when there is a rollback journal.

    The file is then being changed in place, or was when its writer ended.
    """
    if not _exists(source, JOURNAL):
        return
    with suppress(NotReadable), open_regular(root, source.with_name(source.name + JOURNAL)) as journal:
        if journal.read(len(JOURNAL_MAGIC)) == JOURNAL_MAGIC:
            raise _Torn


def _exists(source, suffix):
    with suppress(OSError):
        return source.with_name(source.name + suffix).lstat().st_size > 0
    return False


def _write(file, target):
    file.seek(0)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(file, copy, CHUNK)


def _remove(path, suffixes):
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
