"""Writes `backup_runs`: created backups, the state of their files, and their last restore test."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db.models import Case, QuerySet, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.utils.translation import gettext as _
from ulid import ULID

from jobs.progress import CancelledJob
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import Json
from people.configuration import setting_values as configuration

from ..models import BackupRun
from . import backup_format, backup_reader

PROVEN_FOR_MS = 30 * 86_400_000


def get_backup_folder() -> Path:
    """The folder of backups: the setting, or `backups` in the home."""
    chosen = configuration.get_text("backup.folder")
    return Path(chosen).expanduser() if chosen else settings.HOME_DIR / "backups"


def hold_backup_lock() -> AbstractContextManager[None]:
    """Hold the lock of backups for the block. Raises Refused while another backup is running."""
    return locks.exclusive_lock(locks.BACKING_UP, _("Another backup is running. Wait until that backup has ended."))


def begin(*, by: str) -> BackupRun:
    """Create the row of a new backup. The caller holds the lock.

    Rows that are still running then belong to interrupted backups, and are marked as failed.
    """
    break_off(_("The backup was interrupted."))
    return BackupRun.objects.create(id=str(ULID()), created_at=clock.now_ms(), made_by=by)


def break_off(sentence: str) -> None:
    """Mark the running backup as failed. The caller holds the lock."""
    BackupRun.objects.filter(status=BackupRun.Status.RUNNING).update(
        status=BackupRun.Status.FAILED, message=sentence, finished_at=clock.now_ms()
    )


def finish(run: BackupRun, result) -> None:
    """Store the result of a backup that was created and verified."""
    now = clock.now_ms()
    BackupRun.objects.filter(id=run.id).update(
        **build_status(result.lacks),
        archive_path=str(result.path),
        manifest_json=result.manifest.as_json().decode(),
        archive_bytes=result.bytes,
        archive_sha256=result.sha256,
        finished_at=now,
        verified_at=now,
    )


@contextmanager
def note_failure(run: BackupRun) -> Iterator[None]:
    """Store why the block did not finish its backup."""
    sentence = _("Stopped by an unexpected error. See the server log.")
    try:
        yield
    except Refused as refused:
        sentence = refused.sentence
        raise
    except CancelledJob:
        sentence = _("The backup was canceled.")
        raise
    finally:
        BackupRun.objects.filter(id=run.id, status=BackupRun.Status.RUNNING).update(
            status=BackupRun.Status.FAILED, message=sentence, finished_at=clock.now_ms()
        )


def build_status(lacks: str) -> dict[str, str]:
    """Status and message of an intact backup; `lacks` says what was missing when it was created."""
    status = BackupRun.Status.INCOMPLETE if lacks else BackupRun.Status.VERIFIED
    return {"status": status, "message": lacks}


def note_verified(run: BackupRun, sha256: str, lacks: str) -> None:
    """Store that every byte of a backup was read and is unchanged."""
    columns = build_status(lacks)
    BackupRun.objects.filter(id=run.id).update(**columns, verified_at=clock.now_ms(), archive_sha256=sha256)


def note_proven(run: BackupRun, took_ms: int, lacks: str) -> None:
    """Store that a backup was restored in a test, and what it lacks."""
    columns = build_status(lacks) if lacks else {}
    BackupRun.objects.filter(id=run.id).update(**columns, proven_at=clock.now_ms(), proven_ms=took_ms)


def note_damaged(run: BackupRun, sentence: str) -> None:
    """Store that a backup cannot be used."""
    BackupRun.objects.filter(id=run.id).update(status=BackupRun.Status.DAMAGED, message=sentence)


def has_archive(path: str) -> bool:
    """Whether the file of a backup exists, as far as this user can see.

    A restored home has backups of another machine and user, whose folder may be closed to this one.
    """
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file() raises in a closed folder


def sync_with_disk(by: str = "") -> None:
    """Update the rows after archives were added to the folder or removed from the disk."""
    archives = {
        str(file): file
        for file in get_backup_folder().glob("openclaw-web-*.tar.zst")
        if backup_format.BACKUP_NAME.fullmatch(file.name)
    }
    finished = BackupRun.objects.exclude(status__in=[BackupRun.Status.RUNNING, BackupRun.Status.FAILED])
    for run in finished.exclude(status=BackupRun.Status.GONE):
        if not has_archive(run.archive_path):
            BackupRun.objects.filter(id=run.id).update(status=BackupRun.Status.GONE)
    known = set(finished.exclude(status=BackupRun.Status.GONE).values_list("archive_path", flat=True))
    for path in sorted(archives.keys() - known):
        adopt(archives[path], by=by)


def adopt(path: Path, *, by: str = "") -> BackupRun | None:
    """Store an archive as a backup, new or moved; returns None when it cannot be read."""
    try:
        with backup_reader.open_backup(path) as archive:
            manifest = archive.manifest
    except Refused:
        return None
    location = {"archive_path": str(path), "archive_bytes": path.stat().st_size}
    run, is_new = BackupRun.objects.get_or_create(
        id=manifest.id,
        defaults=location
        | {
            "created_at": manifest.created_at,
            "status": BackupRun.Status.FOUND,
            "manifest_json": manifest.as_json().decode(),
            "made_by": by,
        },
    )
    if not is_new:
        verified = BackupRun.Status.VERIFIED if run.verified_at else BackupRun.Status.FOUND
        if run.verified_at and (manifest.files.damaged or manifest.files.missing):
            verified = BackupRun.Status.INCOMPLETE
        status = run.status if run.status == BackupRun.Status.DAMAGED else verified
        manifest_json = manifest.as_json().decode()
        BackupRun.objects.filter(id=run.id).update(**location, status=status, manifest_json=manifest_json)
        run.refresh_from_db()
    return run


def prune_backups(keep: int, folder: Path) -> list[str]:
    """Remove all but the newest `keep` verified backups of a folder; returns their paths.

    The backup with the last successful restore test is never removed. Backups in other folders are not removed either:
    in a restored home, the rows are also of the backups of the home it was. Incomplete backups are counted separately:
    an older one may hold what they lack.
    """
    verified, incomplete = BackupRun.Status.VERIFIED, BackupRun.Status.INCOMPLETE
    checked = newest_first(BackupRun.objects.filter(status__in=(verified, incomplete)))
    proven = _find_last_proven(checked.filter(status=verified))
    local_runs = [run for run in checked.defer("manifest_json") if Path(run.archive_path).parent == folder]
    removed = []
    for run in (
        candidate
        for kind in (verified, incomplete)
        for candidate in [run for run in local_runs if run.status == kind][max(1, keep) :]
    ):
        path = Path(run.archive_path)
        if run == proven or not backup_format.BACKUP_NAME.fullmatch(path.name):
            continue
        path.unlink(missing_ok=True)
        BackupRun.objects.filter(id=run.id).update(
            status=BackupRun.Status.GONE, message=_("Removed to keep fewer backups.")
        )
        removed.append(str(path))
    return removed


def find_backup(name: str) -> BackupRun:
    """Find a backup by id, file or `latest`. Raises Refused when there is none."""
    usable = newest_first(BackupRun.objects.filter(status__in=BackupRun.USABLE))
    if name == "latest":
        run = usable.first()
    else:
        run = usable.filter(id=name).first()
        path = Path(name).expanduser().absolute()
        if run is None and "\0" not in name and path.exists():
            run = usable.filter(archive_path=str(path)).first() or adopt(path)
            if run is None:
                with backup_reader.open_backup(path):  # its refusal describes the file
                    pass
    if run is None:
        raise Refused(_("There is no such backup here. List the backups with “openclaw-web backup list”."))
    return run


def read_seals(version_id: str) -> Iterator[tuple[str, str]]:
    """The SHA-256 of a release's seal in the manifest of each backup that has the release."""
    sealed = KeyTextTransform(version_id, KeyTransform("releases", Json("manifest_json")))
    runs = BackupRun.objects.filter(manifest_json__contains=version_id).annotate(seal=sealed).exclude(seal=None)
    for path, sha256 in runs.order_by("created_at", "id").values_list("archive_path", "seal"):
        yield _("the manifest of the backup %(file)s") % {"file": Path(path).name}, sha256


def find_last_proven_at() -> int | None:
    """The time of the last restore test."""
    newest = _find_last_proven(BackupRun.objects.all())
    return newest.proven_at if newest else None


def newest_first(runs: QuerySet[BackupRun]) -> QuerySet[BackupRun]:
    """Backups, newest first; those with a time in the future come last.

    A time in the future is not known.
    """
    is_future = Case(When(created_at__gt=clock.now_ms(), then=1), default=0)
    return runs.order_by(is_future, "-created_at", "-id")


def _find_last_proven(runs):
    """The backup with the last restore test.

    One whose test lies in the future counts only when there is no other.
    """
    proven = runs.exclude(proven_at=None).order_by("-proven_at")
    newest = proven.first()
    if newest is None or not clock.is_future(newest.proven_at):
        return newest
    return proven.filter(proven_at__lte=clock.now_ms()).first() or newest


def is_overdue(proven_at: int | None) -> bool:
    """Whether there is no restore test within the last 30 days.

    A test whose time lies in the future does not count.
    """
    return proven_at is None or not clock.is_recent(proven_at, PROVEN_FOR_MS)


def get_advice(proven_at: int | None) -> str:
    """Advice about an overdue restore test."""
    if proven_at:
        return _("The last successful restore was more than 30 days ago. Run a restore test.")
    return _("No backup has been test-restored yet. Create a backup, then run a restore test.")


def find_existing_paths(most: int) -> list[str]:
    """The archives of the newest `most` backups that still exist."""
    rows = BackupRun.objects.exclude(archive_path="").order_by("-created_at").values_list("archive_path", flat=True)
    return [path for path in rows[:most] if has_archive(path)]


def read_heads(agent_id: str) -> list[tuple[str, str]]:
    """Heads of an agent's ledger in all backups that are there, oldest first.

    Each has the path of its backup. They are read from the archives, not from our own rows about them. Backups that
    cannot be opened are left out.
    """
    heads = []
    rows = BackupRun.objects.exclude(archive_path="").order_by("created_at", "id")
    for path in filter(Path.is_file, map(Path, rows.values_list("archive_path", flat=True))):
        with suppress(Refused), backup_reader.open_backup(path) as archive:
            entries = [entry for entry in archive.manifest.databases if entry.agent == agent_id and entry.head]
            heads += [(str(path), entry.head) for entry in entries]
    return heads
