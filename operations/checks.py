"""Checks of the doctor for the files of archives and backups."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import orjson
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from ledger.models import RemovedSession
from openclaw_web.errors import Refused
from openclaw_web.sqlite.integrity import DAMAGED, MISSING, Check, find_file_problem

from .backups import backup_reader, runs
from .models import BackupRun
from .retention import archive_files as archives

CHECKED = (BackupRun.Status.VERIFIED, BackupRun.Status.INCOMPLETE)


def _find_archives(db, *, is_deep) -> Iterator[str]:
    """Archived sessions that cannot be restored; without `is_deep` archives are only opened."""
    rows = RemovedSession.objects.using(db).filter(why=RemovedSession.Why.ARCHIVE).order_by("session_id")
    read = archives.verify_archive if is_deep else partial(_open, archives.open_archive)
    for session_id, name in rows.values_list("session_id", "archive").iterator():
        path = Path(settings.HOME_DIR, name)
        if problem := _find_problem(path, name, _read_size(path), read):
            yield f"{session_id} ({problem})"


def _read_size(path):
    """The original size of an archive; None when no manifest beside it has it."""
    manifest_file = path.with_name(path.name.removesuffix(archives.SUFFIX) + archives.MANIFEST_SUFFIX)
    try:
        return orjson.loads(manifest_file.read_bytes())["bytes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_backups():
    """Paths and sizes of verified backups; `backup verify` reads them completely."""
    rows = BackupRun.objects.filter(status__in=CHECKED).order_by("-created_at", "-id")
    return rows.values_list("archive_path", "archive_bytes").iterator()


def _find_damaged_backups(_db) -> Iterator[str]:
    for path, size in _read_backups():
        if runs.has_archive(path) and (
            problem := _find_problem(Path(path), path, size, partial(_open, backup_reader.open_backup))
        ):
            yield problem if path in problem else f"{path} ({problem})"


def _find_removed_backups(_db) -> Iterator[str]:
    return (path for path, _size in _read_backups() if not runs.has_archive(path))


def _find_problem(path, name, size, read):
    if problem := find_file_problem(path, name, size):
        return problem
    try:
        read(path)
    except Refused as refused:
        return str(refused.sentence)
    return ""


def _open(opened, path):
    with opened(path):
        pass


CHECKS = (
    Check(
        name="archive_files",
        sentence=DAMAGED,
        noun="files",
        find=partial(_find_archives, is_deep=False),
        find_deep=partial(_find_archives, is_deep=True),
        reads="ledger",
    ),
    Check(name="backup_files", sentence=DAMAGED, noun="files", find=_find_damaged_backups, advice=""),
    Check(name="backup_gone", sentence=MISSING, target=_("a backup"), find=_find_removed_backups, is_note=True),
)
