"""Finds damaged database files, and moves them aside without losing one.

A file that is moved aside keeps the ending `.part` until a new file has taken its place and was prepared for an import.
Until then its `-wal` and `-shm` may still be at the old place: SQLite would take them for the log of the new file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext as _
from ulid import ULID

from .. import reasons
from ..disk import locks
from . import failures, files

KEPT, PART = "damaged", ".part"
LOGS = ("-wal", "-shm")


def find_damage(file: Path) -> str:
    """Describe the damage of a file, as the end of a sentence.

    Empty for a file that is sound. Also empty for a file that is missing, busy, or not ours to open: it may be sound.
    """
    try:
        with files.open_database(file) as db:
            (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if answer != "ok":
                return failures.translate_message(answer)
            return "" if files.list_tables(db) else describe_blank()
    except DatabaseError as exc:
        return reasons.describe_error(exc) if failures.is_damage(exc) else ""


def is_blank(file: Path) -> bool:
    """Whether a file can be opened and has no table, such as one of 0 bytes."""
    try:
        with files.open_database(file) as db:
            return not files.list_tables(db)
    except DatabaseError:
        return False


def describe_blank() -> str:
    """Say that a file is blank, as the end of a sentence."""
    return _("the file is blank")


def move_aside(file: Path) -> None:
    """Rename a damaged file and its log; nothing happens to one that is not damaged."""
    with hold_place(file):
        if find_damage(file):
            settle(file)
            file.rename(file.with_name(f"{file.stem}.{KEPT}-{ULID()}{file.suffix}{PART}"))
            _move_logs(file)


@contextmanager
def hold_place(file: Path) -> Iterator[None]:
    """Keep other processes from moving or creating a file for the block.

    No log of another file is beside it then.
    """
    # Not the folder of the file: its lock is that of drafts that get their names.
    folder = os.open(file.parent.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        locks.take(folder)
        _move_logs(file)
        yield
    finally:
        os.close(folder)


def is_unsettled(file: Path) -> bool:
    """Whether a file was moved aside, and the new one may not be prepared yet."""
    return bool(_find_unsettled(file))


def settle(file: Path) -> list[Path]:
    """Give files that were moved aside their last names, and return these."""
    paths = [(part, part.with_suffix("")) for part in _find_unsettled(file)]
    for part, path in paths:
        part.rename(path)
    return [path for _part, path in paths]


def find_kept(root: Path, pattern: str) -> list[Path]:
    """Return the files that were moved aside, without their logs.

    `pattern` matches their earlier paths in `root`.
    """
    place = Path(pattern)
    names = place.with_name(f"{place.stem}.{KEPT}-*{place.suffix}")
    return [path for ending in ("", PART) for path in root.glob(f"{names}{ending}")]


def _find_unsettled(file):
    return sorted(file.parent.glob(f"{file.stem}.{KEPT}-*{file.suffix}{PART}"))


def _move_logs(file):
    """Move the log of a file that was moved aside, or that was removed by hand."""
    if os.path.lexists(file):
        return
    unsettled = _find_unsettled(file)
    owner = unsettled[-1].with_suffix("") if unsettled else file.with_name(f"{file.stem}.{KEPT}-{ULID()}{file.suffix}")
    for ending in LOGS:
        log = file.with_name(f"{file.name}{ending}")
        if log.exists():
            log.rename(owner.with_name(f"{owner.name}{ending}"))
