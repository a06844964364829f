"""Jobs of backups: create one, verify one, test one by restoring it. Each records its result."""

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.kinds import BY_SCHEDULE, DAY_MS, HOUR_MS, Kind, Schedule, as_json
from openclaw_web import amounts, clock
from openclaw_web.disk import room
from openclaw_web.disk.drafts import create_draft, remove_drafts
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size
from people.configuration import setting_values as configuration

from ..models import BackupRun
from . import backup_reader, home_restore, runs, verification


def create(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Create a backup. Raises Refused.

    `params`: `folder` and `keep` (default: the settings), `with_exports`, `by`. With `keep`, all but that many of the
    newest verified backups of the folder are removed after the new one is stored.
    """
    from . import creation  # only here: a site at rest needs no schema of backups

    folder = _get_folder(params)
    with runs.hold_backup_lock():
        runs.sync_with_disk()
        run = runs.begin(by=params.get("by", ""))
        with runs.note_failure(run):
            exports = bool(params.get("with_exports"))
            result = creation.write_backup(run.id, run.created_at, folder, with_exports=exports, progress=progress)
            runs.finish(run, result)
        removed = runs.prune_backups(params["keep"], result.path.parent) if params.get("keep") else []
    for path in removed:
        progress.log(_("Removed %(path)s") % {"path": path})
    run.refresh_from_db()
    words = {"path": result.path, "size": size(result.bytes)}
    message = _("%(path)s, %(size)s, opened and verified.") % words
    lists = {"damaged": result.manifest.files.damaged, "missing": result.manifest.files.missing}
    return build_facts(run) | lists | {"message": _append_lacks(message, result.lacks), "removed": removed}


def clean_up(params: dict[str, Any]) -> None:
    """Clean up after a canceled or killed backup: its draft and its running row."""
    with suppress(Refused), runs.hold_backup_lock():  # a backup that is running does the same
        runs.break_off(_("The backup was canceled."))
        remove_drafts(_get_folder(params) / "backup")


def verify(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Read every byte of the backup `params["backup"]` and open its databases.

    Raises Refused when one is damaged.
    """
    run = runs.find_backup(params["backup"])
    with (
        _note_damage(run),
        backup_reader.open_backup(Path(run.archive_path)) as archive,
        _create_unpack_folder(run) as folder,
    ):
        sha256 = archive.sha256()
        if run.archive_sha256 and sha256 != run.archive_sha256:
            raise Refused(_("The archive is not the one that was created here: its hash is different."))
        result = verification.verify(archive, folder, progress)
        runs.note_verified(run, sha256, result.lacks)
    run.refresh_from_db()
    words = {"files": amounts.format_amount("files", result.files)}
    words["databases"] = amounts.format_amount("databases", len(archive.manifest.databases))
    message = _("%(files)s and %(databases)s are unchanged since the backup.") % words
    lists = {"damaged": result.damaged, "missing": result.missing}
    return build_facts(run) | lists | {"message": _append_lacks(message, result.lacks)}


def drill(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Restore the backup `params["backup"]` into a temporary folder. Raises Refused."""
    run, began = runs.find_backup(params["backup"]), clock.now_ms()
    with (
        _note_damage(run),
        backup_reader.open_backup(Path(run.archive_path)) as archive,
        _create_unpack_folder(run) as folder,
    ):
        home_facts, result = home_restore.build_home(archive, folder / "home", by="drill", progress=progress)
        verification.reopen_databases(archive, folder / "home")
    runs.note_proven(run, clock.now_ms() - began, result.lacks)
    run.refresh_from_db()
    words = {"agents": amounts.format_amount("agents", len(home_facts["agents"]))}
    words["databases"] = amounts.format_amount("databases", len(archive.manifest.databases))
    words |= {"tables": amounts.format_amount("tables", result.tables), "rows": f"{result.rows:,}"}
    words["contents"] = amounts.format_amount("contents", len(result.referred))
    message = _("Restored and opened: %(databases)s of %(agents)s.")
    message += " " + _(
        "Compared: the row counts of %(tables)s (total: %(rows)s) with those recorded at the backup, and %(contents)s "
        "that rows refer to with their hashes."
    )
    lists = {"damaged": result.damaged, "missing": result.missing}
    return build_facts(run) | home_facts | lists | {"message": _append_lacks(message % words, result.lacks)}


def _append_lacks(message, lacks):
    """The message of a result, followed by what the backup lacks."""
    return _("%(message)s It is incomplete. %(lacks)s") % {"message": message, "lacks": lacks} if lacks else message


def build_facts(run: BackupRun) -> dict[str, Any]:
    """Facts about a backup, for receipts and responses."""
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


def _get_folder(params):
    return Path(params["folder"]) if params.get("folder") else runs.get_backup_folder()


@contextmanager
def _note_damage(run):
    """Mark the backup as damaged when the block refuses it.

    A full disk is not damage of the backup.
    """
    try:
        yield
    except room.NoRoom:
        raise
    except Refused as refused:
        runs.note_damaged(run, refused.sentence)
        raise


@contextmanager
def _create_unpack_folder(run):
    """Create an empty folder beside the backup to unpack into."""
    folder = Path(run.archive_path).parent
    with room.refuse_when_full(folder, _("The backup was not checked.")), create_draft(folder / "unpacking") as draft:
        yield draft


def _remove_unpacked(params):
    with suppress(Refused):
        remove_drafts(Path(runs.find_backup(params.get("backup", "")).archive_path).parent / "unpacking")


CREATE_JOB = Kind(
    run=create,
    label=gettext_lazy("Backup"),
    audit_text=gettext_lazy("started a backup"),
    cancel_text=gettext_lazy("The unfinished file is removed; no backup is created."),
    undo=clean_up,
    describe_result=as_json,
    page="operations:backup_list",
    schedule=Schedule(
        "schedule.backupHours", HOUR_MS, lambda: {"by": BY_SCHEDULE, "keep": configuration.get("backup.keep")}
    ),
)
DRILL_JOB = Kind(
    run=drill,
    label=gettext_lazy("Restore test"),
    audit_text=gettext_lazy("started a restore test"),
    cancel_text=gettext_lazy("No result is recorded, and the unpacked files are removed."),
    undo=_remove_unpacked,
    describe_result=as_json,
    page="operations:backup_list",
    schedule=Schedule(
        "schedule.drillDays",
        DAY_MS,
        lambda: {"backup": "latest"},
        lambda: BackupRun.objects.filter(status__in=BackupRun.USABLE).exists(),
    ),
)
VERIFY_JOB = Kind(
    run=verify,
    label=gettext_lazy("Backup check"),
    audit_text=gettext_lazy("started a backup check"),
    cancel_text=gettext_lazy("No result is recorded, and the unpacked files are removed."),
    undo=_remove_unpacked,
    describe_result=as_json,
    page="operations:backup_list",
)
