"""Where an export lies: written in a draft folder beside, moved into place when it is complete and on the disk."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ulid import ULID

from . import locks

NAME = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")  # a ULID: what begins alike and ends otherwise is somebody else's


@contextmanager
def create_draft(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to write into; gone afterwards unless it was published.

    Drafts of builds that died are removed. Whoever writes a draft holds a lock on it, which ends with the process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in _left(folder):
        _remove_dead(left)
    draft, descriptor = _made(folder)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(descriptor)


def remove_drafts(folder: Path) -> None:
    """Take away drafts of `folder` that nobody writes any more."""
    if folder.parent.is_dir():
        with suppress(OSError), create_draft(folder):  # which does it before it makes another one
            pass


def remove_dead_drafts(parent: Path) -> list[str]:
    """Remove every draft in `parent` that nobody writes any more; the names of what they were drafts of, each once."""
    removed = []
    for path in parent.iterdir() if parent.is_dir() else ():
        name, _dot, mark = path.name.removeprefix(".").rpartition(".")
        is_draft = path.name.startswith(".") and name and NAME.fullmatch(mark)
        if is_draft and path.is_dir() and not path.is_symlink() and _remove_dead(path):
            removed.append(name)
    return sorted(set(removed))


def publish(draft: Path, folder: Path) -> None:
    """Move a complete draft into place; leave what is there when another process was quicker."""
    sync_folder(draft)
    if not folder.exists():
        draft.rename(folder)
        sync_folder(folder.parent)


def _left(folder):
    begin = f".{folder.name}."
    found = [path for path in folder.parent.iterdir() if path.name.startswith(begin)]
    ours = [path for path in found if NAME.fullmatch(path.name.removeprefix(begin))]
    return [path for path in ours if path.is_dir() and not path.is_symlink()]


def _made(folder):
    """A new draft with a descriptor that holds its lock.

    Whoever clears away dead drafts may have taken it for one before it was locked: then there is another one.
    """
    while True:
        draft = folder.parent / f".{folder.name}.{ULID()}"
        draft.mkdir()
        descriptor = _lock(draft)
        if descriptor is not None and draft.exists():
            return draft, descriptor
        if descriptor is not None:
            os.close(descriptor)


def _remove_dead(draft):
    """Remove a draft unless somebody writes it; whether it was removed."""
    descriptor = _lock(draft)
    if descriptor is None:
        return False
    try:
        shutil.rmtree(draft)
    except FileNotFoundError:  # published, or removed, a moment ago
        return False
    finally:
        os.close(descriptor)
    return True


def _lock(folder):
    """A descriptor that holds the folder's lock, or None while another process has it or the folder has gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if locks.take(descriptor, wait=False):
        return descriptor
    os.close(descriptor)
    return None


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
