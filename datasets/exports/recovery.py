"""Recovers exports whose process was killed, and removes what such exports left behind."""

from collections.abc import Callable, Collection
from itertools import islice

from django.utils.translation import gettext as _

from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web.disk import locks

from ..models import DatasetExport
from . import exports, row_files, row_samples

BY = "command line"
IDS_AT_ONCE = 500


def recover_exports(
    ids: Collection[str], removed: Collection[str], say: Callable[[str], object], *, is_server: bool
) -> None:
    """Decide about each export that is not built any more, and report the decision.

    `removed` are the exports whose unfinished files were removed; `say` gets a sentence about each export. `is_server`:
    this process works on jobs.
    """
    for export_id in ids:
        export = DatasetExport.objects.filter(id=export_id).first()
        is_over = export is None or export.state in exports.ENDED_STATES
        if is_over and export_id in removed:
            say(_("Unfinished files were removed from the folder of exports."))
        # The process that built it is dead, with or without a draft.
        elif export and (export_id in removed or any(map(jobs.is_lost, _find_running_jobs(export)))):
            say(_end_export(export, is_server) % {"name": export.export_name})


def remove_stray_indexes() -> None:
    """Remove the indexes of exports without files, and of unknown ones.

    An export that is being built is known, so its index stays.
    """
    ids = iter(list(row_samples.list_indexes()))
    while batch := list(islice(ids, IDS_AT_ONCE)):
        known = DatasetExport.objects.filter(id__in=batch).exclude(state__in=exports.STATES_WITHOUT_FILES)
        for export_id in set(batch).difference(known.values_list("id", flat=True)):
            row_samples.remove_index(export_id)


def _end_export(export, is_server):
    """End an export that no process builds, and return the sentence about it."""
    sentence = _("The export was interrupted before it was complete.")
    with locks.lock(locks.WORKING, wait=False) as is_nobody_working:
        is_ours = is_nobody_working and not is_server and export.exported_by == BY
        if not is_ours or not all(jobs.end_lost(job, sentence) for job in _find_running_jobs(export)):
            if export.state == DatasetExport.State.READY:
                return _(
                    "The export “%(name)s” was interrupted when its files were complete. The job worker finishes it."
                )
            return _("The export “%(name)s” was interrupted. The job worker writes its files again.")
        if exports.folder_of(export).is_dir():
            exports.build_export(export.id, Progress())
            row_files.store_difference(DatasetExport.objects.get(id=export.id))
            return _("The export “%(name)s” was interrupted when its files were complete: it is finished.")
        exports.give_up(export.id, sentence)
    return _("The export “%(name)s” was interrupted: its unfinished files were removed. Run it again.")


def _find_running_jobs(export):
    params = JobRun.params.encode({"export_id": export.id})
    return JobRun.objects.filter(kind="export", state=JobRun.State.RUNNING, params_json=params).defer("log")
