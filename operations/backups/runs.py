"""Every write to `backup_runs`: which backups were made, what became of them, when each was proven by a restore."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db.models import Case, QuerySet, When
from django.utils.translation import gettext as _
from ulid import ULID

from jobs.progress import CancelledJob
from openclaw_web import clock
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import BackupRun
from . import backup_paths, backup_reader

PROVEN_FOR_MS = 30 * 86_400_000


def get_backup_folder() -> Path:
    """Where backups go: the setting, or `backups` in the home."""
    chosen = configuration.get_text("backup.folder")
    return Path(chosen).expanduser() if chosen else settings.HOME_DIR / "backups"


def begin(*, by: str) -> BackupRun:
    """The row of a backup that begins now. Whoever calls holds the lock: what still says it runs was broken off."""
    break_off(_("The backup was interrupted."))
    return BackupRun.objects.create(id=str(ULID()), created_at=clock.now_ms(), made_by=by)


def break_off(sentence: str) -> None:
    """Write down that nobody makes the backup any more that is said to be made. Whoever calls holds the lock."""
    BackupRun.objects.filter(status=BackupRun.Status.RUNNING).update(
        status=BackupRun.Status.FAILED, message=sentence, finished_at=clock.now_ms()
    )


def finish(run: BackupRun, made) -> None:
    """Write down a backup that was made and opened again (a creating.Made)."""
    now = clock.now_ms()
    BackupRun.objects.filter(id=run.id).update(
        **build_status(made.lacks),
        archive_path=str(made.path),
        manifest_json=made.manifest.as_json().decode(),
        archive_bytes=made.bytes,
        archive_sha256=made.sha256,
        finished_at=now,
        verified_at=now,
    )


@contextmanager
def note_failure(run: BackupRun) -> Iterator[None]:
    """Write down why there is no backup when the block does not come to its end."""
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
    """Status and message of a backup of which every byte is as it was made; `lacks` says what it never had."""
    status = BackupRun.Status.INCOMPLETE if lacks else BackupRun.Status.VERIFIED
    return {"status": status, "message": lacks}


def note_verified(run: BackupRun, sha256: str, lacks: str) -> None:
    """Write down that every byte of a backup was read and was as it was made."""
    told = build_status(lacks)
    BackupRun.objects.filter(id=run.id).update(**told, verified_at=clock.now_ms(), archive_sha256=sha256)


def note_proven(run: BackupRun, took_ms: int, lacks: str) -> None:
    """Write down that a backup was restored, and what it lacks."""
    told = build_status(lacks) if lacks else {}
    BackupRun.objects.filter(id=run.id).update(**told, proven_at=clock.now_ms(), proven_ms=took_ms)


def note_damaged(run: BackupRun, sentence: str) -> None:
    """Write down that a backup cannot be used."""
    BackupRun.objects.filter(id=run.id).update(status=BackupRun.Status.DAMAGED, message=sentence)


def sync_with_disk(by: str = "") -> None:
    """Bring the rows up to what is on the disk: archives that were put there, and those that were taken away."""
    archives = {
        str(file): file
        for file in get_backup_folder().glob("openclaw-web-*.tar.zst")
        if backup_paths.BACKUP_NAME.fullmatch(file.name)
    }
    kept = BackupRun.objects.exclude(status__in=[BackupRun.Status.RUNNING, BackupRun.Status.FAILED])
    for run in kept.exclude(status=BackupRun.Status.GONE):
        if not Path(run.archive_path).is_file():
            BackupRun.objects.filter(id=run.id).update(status=BackupRun.Status.GONE)
    known = set(kept.exclude(status=BackupRun.Status.GONE).values_list("archive_path", flat=True))
    for path in sorted(archives.keys() - known):
        adopt(archives[path], by=by)


def adopt(path: Path, *, by: str = "") -> BackupRun | None:
    """The row of an archive that lies somewhere, made or moved there; None when it cannot be read as one."""
    try:
        with backup_reader.open_backup(path) as archive:
            manifest = archive.manifest
    except Refused:
        return None
    places = {"archive_path": str(path), "archive_bytes": path.stat().st_size}
    run, is_new = BackupRun.objects.get_or_create(
        id=manifest.id,
        defaults=places
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
        BackupRun.objects.filter(id=run.id).update(**places, status=status, manifest_json=manifest_json)
        run.refresh_from_db()
    return run


def prune_backups(keep: int, folder: Path) -> list[str]:
    """Remove all but the newest `keep` verified backups of a folder; their paths. The last proven one stays.

    So does what is elsewhere: in a home that was restored, the rows are also of the backups of the home it was.
    Incomplete ones are counted apart: an older one may hold what they lack.
    """
    whole, incomplete = BackupRun.Status.VERIFIED, BackupRun.Status.INCOMPLETE
    checked = newest_first(BackupRun.objects.filter(status__in=(whole, incomplete)))
    proven = _proven(checked.filter(status=whole))
    here = [run for run in checked.defer("manifest_json") if Path(run.archive_path).parent == folder]
    removed = []
    for run in (
        one for kind in (whole, incomplete) for one in [run for run in here if run.status == kind][max(1, keep) :]
    ):
        path = Path(run.archive_path)
        if run == proven or not backup_paths.BACKUP_NAME.fullmatch(path.name):
            continue
        path.unlink(missing_ok=True)
        BackupRun.objects.filter(id=run.id).update(
            status=BackupRun.Status.GONE, message=_("Removed to keep fewer backups.")
        )
        removed.append(str(path))
    return removed


def find_backup(name: str) -> BackupRun:
    """The backup called `name`: its id, its file, or `latest`. Raises Refused when there is none."""
    usable = newest_first(BackupRun.objects.filter(status__in=BackupRun.USABLE))
    if name == "latest":
        found = usable.first()
    else:
        found = usable.filter(id=name).first()
        path = Path(name).expanduser().absolute()
        if found is None and "\0" not in name and path.exists():
            found = usable.filter(archive_path=str(path)).first() or adopt(path)
            if found is None:
                with backup_reader.open_backup(path):  # refuses it with what it is
                    pass
    if found is None:
        raise Refused(_("There is no such backup here. List the backups with “openclaw-web backup list”."))
    return found


def find_last_proven_at() -> int | None:
    """When a backup was last restored to prove it."""
    newest = _proven(BackupRun.objects.all())
    return newest.proven_at if newest else None


def newest_first(runs: QuerySet[BackupRun]) -> QuerySet[BackupRun]:
    """Backups by their time; those whose time lies in the future come last, because it is not known."""
    is_future = Case(When(created_at__gt=clock.now_ms(), then=1), default=0)
    return runs.order_by(is_future, "-created_at", "-id")


def _proven(runs):
    """The one that was proven last; one whose proof lies in the future only when there is no other."""
    proven = runs.exclude(proven_at=None).order_by("-proven_at")
    newest = proven.first()
    if newest is None or not clock.is_future(newest.proven_at):
        return newest
    return proven.filter(proven_at__lte=clock.now_ms()).first() or newest


def is_overdue(proven_at: int | None) -> bool:
    """Whether the last proof is older than 30 days, or lies in the future, or there is none."""
    return proven_at is None or not clock.is_recent(proven_at, PROVEN_FOR_MS)


def get_advice(proven_at: int | None) -> str:
    """What to do when the proof is overdue."""
    if proven_at:
        return _("The last successful restore was more than 30 days ago. Run a restore test.")
    return _("No backup has been test-restored yet. Create a backup, then run a restore test.")


def find_existing_paths(most: int) -> list[str]:
    """The archives of the newest `most` backups, as far as they are where they were written."""
    rows = BackupRun.objects.exclude(archive_path="").order_by("-created_at").values_list("archive_path", flat=True)
    return [path for path in rows[:most] if Path(path).exists()]
