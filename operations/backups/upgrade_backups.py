"""Creates the backup before an upgrade, and finds a backup that this version can restore.

Until the databases are updated they have the tables of the version before. So nothing is written to them here: a file
in the home notes the backup, and its row follows after the update. The note also lets a start after a failed update
use the same backup again, as long as the databases that have to be updated hold the same bytes.
"""

from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_origin

import orjson
from django.conf import settings
from django.db import DatabaseError
from ulid import ULID

from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.disk import publication
from openclaw_web.errors import Refused
from openclaw_web.sqlite import database_copies, known_migrations

from ..models import BackupRun
from . import backup_reader, runs

NOTE = Path("state") / "upgrade-backup.json"
BY = "upgrade"


@dataclass(frozen=True, slots=True)
class UpgradeBackup:
    """The backup of a home before its update.

    `files` has the hash of each database that has to be updated, by its path in the home.
    """

    id: str
    created_at: int
    finished_at: int
    path: str
    bytes: int
    sha256: str
    lacks: str
    files: dict[str, str]


def ensure_backup(outdated: list[Path]) -> tuple[UpgradeBackup, bool]:
    """Create a verified backup before `outdated` databases are updated; also returns whether it is new.

    A backup that an earlier start created of the same databases is used again. Raises Refused when none can be created.
    """
    from . import creation  # only here: most starts update nothing

    hashes = {file.relative_to(settings.HOME_DIR).as_posix(): database_copies.hash_database(file) for file in outdated}
    noted = read_note()
    if noted and noted.files.items() >= hashes.items() and _is_readable(noted):
        return noted, False
    with runs.hold_backup_lock():
        backup_id, created_at = str(ULID()), clock.now_ms()
        folder = runs.get_backup_folder()
        result = creation.write_backup(backup_id, created_at, folder, with_exports=False, progress=Progress())
    path, finished_at = str(result.path.absolute()), clock.now_ms()
    facts = (path, result.bytes, result.sha256, result.lacks, hashes)
    backup = UpgradeBackup(backup_id, created_at, finished_at, *facts)
    file = settings.HOME_DIR / NOTE
    draft = file.with_suffix(".draft")
    draft.write_bytes(orjson.dumps(backup))
    publication.restrict(draft, 0o600)
    draft.replace(file)
    return backup, True


def record_backup(backup: UpgradeBackup) -> None:
    """Store the row of a backup that was noted, unless there is one."""
    with suppress(Refused), backup_reader.open_backup(Path(backup.path)) as archive:
        columns = runs.build_status(backup.lacks) | {
            "created_at": backup.created_at,
            "archive_path": backup.path,
            "manifest_json": archive.manifest.as_json().decode(),
            "archive_bytes": backup.bytes,
            "archive_sha256": backup.sha256,
            "made_by": BY,
            "finished_at": backup.finished_at,
            "verified_at": backup.finished_at,
        }
        BackupRun.objects.get_or_create(id=backup.id, defaults=columns)


def read_note() -> UpgradeBackup | None:
    """The backup that was created before an update; None without a note."""
    try:
        backup = UpgradeBackup(**orjson.loads((settings.HOME_DIR / NOTE).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):  # somebody changed it: as if there were none
        return None
    kinds = {column.name: get_origin(column.type) or column.type for column in fields(UpgradeBackup)}
    return backup if all(isinstance(getattr(backup, name), kind) for name, kind in kinds.items()) else None


def remove_note() -> None:
    """Forget the backup: all databases are up to date."""
    (settings.HOME_DIR / NOTE).unlink(missing_ok=True)


def find_restorable() -> Path | None:
    """The newest backup on the disk that this version can restore."""
    restorable = {}
    folders = {settings.HOME_DIR / "backups"}
    with suppress(DatabaseError, ValueError):  # the table of settings may be another one
        folders.add(runs.get_backup_folder())
    for folder in folders:
        for path in folder.glob("openclaw-web-*.tar.zst"):
            with suppress(Refused), backup_reader.open_backup(path) as archive:
                entries = archive.manifest.databases
                if not any(known_migrations.is_other_version(entry.applied_migrations) for entry in entries):
                    restorable[archive.manifest.created_at, str(path)] = path
    return restorable[max(restorable)] if restorable else None


def _is_readable(backup):
    """Whether the file of a backup is still there, under its name."""
    with suppress(Refused), backup_reader.open_backup(Path(backup.path)) as archive:
        return archive.manifest.id == backup.id
    return False
