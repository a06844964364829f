"""Where an export lies: written in a draft folder beside, moved into place when it is complete and on the disk."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ulid import ULID

from ..exporters.files import sync_folder


@contextmanager
def draft_of(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to write into; gone afterwards unless it was published.

    Drafts of builds that died are removed. Whoever writes a draft holds a lock on it, which ends with the process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*"):
        if descriptor := _lock(left):
            shutil.rmtree(left)
            os.close(descriptor)
    draft = folder.parent / f".{folder.name}.{ULID()}"
    draft.mkdir()
    descriptor = _lock(draft)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if descriptor:
            os.close(descriptor)


def publish(draft: Path, folder: Path) -> None:
    """Move a complete draft into place; leave what is there when another process was quicker."""
    sync_folder(draft)
    if not folder.exists():
        draft.rename(folder)
        sync_folder(folder.parent)


def _lock(folder):
    """A descriptor that holds the folder's lock, or None while another process has it or the folder has gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
