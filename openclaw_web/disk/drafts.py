"""Writes an export into a draft folder, and moves it into place when it is complete.

The draft lies beside its target, and is on the disk before it is moved.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ulid import ULID

from . import locks

NAME = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")  # a ULID: names with another ending are not ours


@contextmanager
def create_draft(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to write into, removed afterwards unless it was published.

    Drafts of builds that died are removed. The process that writes a draft holds a lock on it, which ends with the
    process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    begin = f".{folder.name}."
    paths = [path for path in folder.parent.iterdir() if path.name.startswith(begin)]
    ours = [path for path in paths if NAME.fullmatch(path.name.removeprefix(begin))]
    for old_draft in [path for path in ours if path.is_dir() and not path.is_symlink()]:
        _remove_unless_locked(old_draft)
    draft, descriptor = _create_locked(folder)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(descriptor)


def remove_drafts(folder: Path) -> None:
    """Remove drafts of `folder` that no process writes any more."""
    if folder.parent.is_dir():
        with suppress(OSError), create_draft(folder):  # which removes dead drafts before it makes a new one
            pass


def remove_dead_drafts(parent: Path) -> list[str]:
    """Remove every draft in `parent` that no process writes any more.

    Returns the names of the folders they were drafts of, each once, sorted.
    """
    removed = []
    for path in parent.iterdir() if parent.is_dir() else ():
        name, _dot, mark = path.name.removeprefix(".").rpartition(".")
        is_draft = path.name.startswith(".") and name and NAME.fullmatch(mark)
        if is_draft and path.is_dir() and not path.is_symlink() and _remove_unless_locked(path):
            removed.append(name)
    return sorted(set(removed))


def publish(draft: Path, folder: Path) -> None:
    """Move a complete draft into place, unless another process was quicker."""
    sync_folder(draft)
    if not folder.exists():
        draft.rename(folder)
        sync_folder(folder.parent)


def _create_locked(folder):
    """Create a draft, with a descriptor that holds its lock.

    Another process that removes dead drafts may take the draft away before it is locked: then a new one is created.
    """
    while True:
        draft = folder.parent / f".{folder.name}.{ULID()}"
        draft.mkdir()
        descriptor = _lock(draft)
        if descriptor is not None and draft.exists():
            return draft, descriptor
        if descriptor is not None:
            os.close(descriptor)


def _remove_unless_locked(draft):
    """Remove a draft unless a process writes it; return whether it was removed."""
    descriptor = _lock(draft)
    if descriptor is None:
        return False
    try:
        shutil.rmtree(draft)
    except FileNotFoundError:  # published, or removed, a moment ago
        return False
    except OSError as exc:
        if exc.errno != errno.ENOTEMPTY:
            raise
        return False  # a process that the dead one had started still writes into it: the next time removes it
    finally:
        os.close(descriptor)
    return True


def _lock(folder):
    """A descriptor that holds the lock of a folder.

    None while another process has it, or when the folder is gone.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if locks.take(descriptor, wait=False):
        return descriptor
    os.close(descriptor)
    return None


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
