"""Pages of backups: the list, the last restore test, schedules and the buttons."""

import shutil
from pathlib import Path

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from jobs import automatic_tasks
from jobs import services as jobs
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages import files
from openclaw_web.pages.html import refuse_post, render_page
from openclaw_web.pages.roles import needs

from ..models import BackupRun
from . import runs


@require_safe
@needs("operator")
def backup_list(request):
    """The backups, newest first, and the automatic tasks."""
    page = page_of(BackupRun.objects.defer("manifest_json"), order=("-created_at", "-id"), **read_cursors(request))
    for run in page:
        if run.status in BackupRun.USABLE and not runs.has_archive(run.archive_path):
            run.status = BackupRun.Status.GONE  # the file was removed since the last check
    proven_at, folder = runs.find_last_proven_at(), runs.get_backup_folder()
    # Without a range of the index, SQLite 3.46 reads and sorts all rows to find the first.
    verified = BackupRun.objects.filter(status=BackupRun.Status.VERIFIED, created_at__gt=0)
    context = {
        "page": page,
        "rows": [(run, run.status in BackupRun.USABLE, _format_file(run, folder)) for run in page],
        "newest": verified.order_by("-created_at", "-id").defer("manifest_json").first(),
        "proven_at": proven_at,
        "is_overdue": runs.is_overdue(proven_at),
        "advice": runs.get_advice(proven_at),
        "folder": folder,
        "free": _find_free_bytes(folder),
        "tasks": automatic_tasks.read_tasks(),
        "may_change": request.user.has_role("admin"),
    }
    return render_page(request, "operations/backup_list.html", context)


@require_POST
@needs("admin")
def backup_create(request):
    """Start a backup and go to its job.

    While a backup of another user is running, the page says so and links to that job.
    """
    params = {"by": request.user.username} | ({"with_exports": True} if request.POST.get("with_exports") else {})
    try:
        job = jobs.start("backup", params, by=request.user.username, is_alone=True)
    except Refused as refused:
        return refuse_post(request, refused, to=JobRun(id=refused.reasons[0]["id"]))
    return redirect_after_start(request, job)


@require_POST
@needs("admin")
def backup_verify(request, backup_id):
    """Start the verification of a backup."""
    params = {"backup": _get_usable_backup(backup_id).id}
    return _start_job(request, "backup_verify", params)


@require_POST
@needs("admin")
def backup_drill(request, backup_id):
    """Start a restore test of a backup."""
    params = {"backup": _get_usable_backup(backup_id).id}
    return _start_job(request, "backup_drill", params)


@require_safe
@needs("admin")
def backup_file(request, backup_id):
    """Download the archive, also in ranges."""
    run = _get_usable_backup(backup_id)
    path = Path(run.archive_path)
    if not runs.has_archive(run.archive_path):
        raise Http404
    return files.download(request, path, checksum=run.archive_sha256 or run.id, content_type="application/zstd")


def _get_usable_backup(backup_id):
    return get_object_or_404(BackupRun, id=backup_id, status__in=BackupRun.USABLE)


def _start_job(request, kind, params):
    return redirect_after_start(request, jobs.start(kind, params, by=request.user.username))


def _format_file(run, folder):
    """The name of a backup's file; with its folder when that is not the current one."""
    path = Path(run.archive_path)
    return path.name if path.parent == folder else run.archive_path


def _find_free_bytes(folder):
    """The free bytes of the backup folder; None when they cannot be read."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None
