"""What backups do, as jobs: make one, verify one, prove one by restoring it. Each records what it did."""

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.kinds import BY_SCHEDULE, DAY_MS, HOUR_MS, Kind, Schedule
from openclaw_web import amounts, clock
from openclaw_web.disk import locks, room
from openclaw_web.disk.drafts import create_draft, remove_drafts
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size
from people.configuration import setting_values as configuration

from ..models import BackupRun
from . import backup_reader, creation, home_restore, runs, verification


def create(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Make a backup. `params`: `folder` and `keep` (none: the settings), `with_exports`, `by`. Raises Refused.

    With `keep`, all but so many of the newest verified ones of the folder are removed when the new one is there.
    """
    folder = _folder(params)
    with _only_one():
        runs.sync_with_disk()
        run = runs.begin(by=params.get("by", ""))
        with runs.note_failure(run):
            exports = bool(params.get("with_exports"))
            made = creation.write_backup(run.id, run.created_at, folder, with_exports=exports, progress=progress)
            runs.finish(run, made)
        removed = runs.prune_backups(params["keep"], made.path.parent) if params.get("keep") else []
    for path in removed:
        progress.log(_("Removed %(path)s") % {"path": path})
    run.refresh_from_db()
    words = {"path": made.path, "size": size(made.bytes)}
    message = _("%(path)s, %(size)s, opened and verified.") % words
    lists = {"damaged": made.manifest.files.damaged, "missing": made.manifest.files.missing}
    return build_facts(run) | lists | {"message": _with(message, made.lacks), "removed": removed}


def clean_up(params: dict[str, Any]) -> None:
    """Remove what a backup left that was cancelled or killed: its draft, and a row that says it is being made."""
    with suppress(Refused), _only_one():  # another one that is being made does the same
        runs.break_off(_("The backup was canceled."))
        remove_drafts(_folder(params) / "backup")


def verify(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Read every byte of the backup `params["backup"]` and open its databases. Raises Refused when one is wrong."""
    run = runs.find_backup(params["backup"])
    with _noted(run), backup_reader.open_backup(Path(run.archive_path)) as archive, _space(run) as folder:
        sha256 = archive.sha256()
        if run.archive_sha256 and sha256 != run.archive_sha256:
            raise Refused(_("The archive is not the one that was created here: its hash is different."))
        found = verification.verify(archive, folder, progress)
        runs.note_verified(run, sha256, found.lacks)
    run.refresh_from_db()
    words = {"files": amounts.format_amount("files", found.files)}
    words["databases"] = amounts.format_amount("databases", len(archive.manifest.databases))
    message = _("%(files)s and %(databases)s are unchanged since the backup.") % words
    lists = {"damaged": found.damaged, "missing": found.missing}
    return build_facts(run) | lists | {"message": _with(message, found.lacks)}


def drill(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Restore the backup `params["backup"]` into a folder of its own, which is removed again. Raises Refused."""
    run, began = runs.find_backup(params["backup"]), clock.now_ms()
    with _noted(run), backup_reader.open_backup(Path(run.archive_path)) as archive, _space(run) as folder:
        made, found = home_restore.build_home(archive, folder / "home", by="drill", progress=progress)
        verification.reopen_databases(archive, folder / "home")
    runs.note_proven(run, clock.now_ms() - began, found.lacks)
    run.refresh_from_db()
    words = {"agents": amounts.format_amount("agents", len(made["agents"]))}
    words["databases"] = amounts.format_amount("databases", len(archive.manifest.databases))
    words |= {"tables": amounts.format_amount("tables", found.tables), "rows": f"{found.rows:,}"}
    words["contents"] = amounts.format_amount("contents", len(found.referred))
    message = _("Restored and opened: %(databases)s of %(agents)s.")
    message += " " + _(
        "Compared: the row counts of %(tables)s (total: %(rows)s) with those recorded at the backup, and %(contents)s "
        "that rows refer to with their hashes."
    )
    lists = {"damaged": found.damaged, "missing": found.missing}
    return build_facts(run) | made | lists | {"message": _with(message % words, found.lacks)}


def _with(message, lacks):
    """What was done, and what the backup lacks all the same."""
    return _("%(message)s It is incomplete. %(lacks)s") % {"message": message, "lacks": lacks} if lacks else message


def build_facts(run: BackupRun) -> dict[str, Any]:
    """What receipts and answers say of a backup."""
    return {
        "id": run.id,
        "status": str(run.status),
        "path": run.archive_path,
        "bytes": run.archive_bytes,
        "sha256": run.archive_sha256,
        "created_at": run.created_at,
        "verified_at": run.verified_at,
        "proven_at": run.proven_at,
        "proven_ms": run.proven_ms,
        "made_by": run.made_by,
        "sentence": run.message,
    }


def _folder(params):
    return Path(params["folder"]) if params.get("folder") else runs.get_backup_folder()


def _only_one():
    return locks.exclusive_lock(locks.BACKING_UP, _("Another backup is running. Wait until that backup has ended."))


@contextmanager
def _noted(run):
    """Write down when a backup turns out to be damaged; that the disk is full is no fault of the backup's."""
    try:
        yield
    except room.NoRoom:
        raise
    except Refused as refused:
        runs.note_damaged(run, refused.sentence)
        raise


@contextmanager
def _space(run):
    """An empty folder beside the backup to unpack into."""
    beside = Path(run.archive_path).parent
    with room.refuse_when_full(beside, _("The backup was not checked.")), create_draft(beside / "unpacking") as draft:
        yield draft


def _take_back_unpacked(params):
    with suppress(Refused):
        remove_drafts(Path(runs.find_backup(params.get("backup", "")).archive_path).parent / "unpacking")


CREATE_JOB = Kind(
    run=create,
    label=gettext_lazy("Backup"),
    started=gettext_lazy("started a backup"),
    kept=gettext_lazy("The unfinished file is removed; no backup is created."),
    undo=clean_up,
    page="operations:backup_list",
    every=Schedule(
        "schedule.backupHours", HOUR_MS, lambda: {"by": BY_SCHEDULE, "keep": configuration.get("backup.keep")}
    ),
)
DRILL_JOB = Kind(
    run=drill,
    label=gettext_lazy("Restore test"),
    started=gettext_lazy("started a restore test"),
    kept=gettext_lazy("No result is recorded, and the unpacked files are removed."),
    undo=_take_back_unpacked,
    page="operations:backup_list",
    every=Schedule(
        "schedule.drillDays",
        DAY_MS,
        lambda: {"backup": "latest"},
        lambda: BackupRun.objects.filter(status__in=BackupRun.USABLE).exists(),
    ),
)
VERIFY_JOB = Kind(
    run=verify,
    label=gettext_lazy("Backup check"),
    started=gettext_lazy("started a backup check"),
    kept=gettext_lazy("No result is recorded, and the unpacked files are removed."),
    undo=_take_back_unpacked,
    page="operations:backup_list",
)
