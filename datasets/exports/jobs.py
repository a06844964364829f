"""Exports as jobs: asked for on the page, by the API or in a terminal, built by whoever works on jobs."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web.errors import Refused
from people.audit import log as audit

from ..exporters.files.file_names import dataset_name
from ..models import DatasetExport
from . import exports, secret_access
from . import verification as verifying
from .detail import differences
from .exports import STATES_WITHOUT_FILES
from .options import check_name


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Build the export `params["export_id"]`; what is in it, as JSON-able values."""
    begun = DatasetExport.objects.filter(id=params["export_id"], state=DatasetExport.State.RUNNING)
    is_begun = begun.exists()
    manifest = exports.build_export(params["export_id"], progress)
    differences.store_difference(DatasetExport.objects.get(id=params["export_id"]))
    facts = {"export_id": params["export_id"], "counts": manifest["counts"], "files": manifest["files"]}
    if is_begun:
        facts["message"] = _("Interrupted before: the unfinished files were removed, and all files were written again.")
    return facts


def start_export(
    name: str, format: str, task: str, *, by: str, is_admin: bool = False, **choices: Any
) -> DatasetExport:
    """Ask for an export and queue the job that builds it. Raises Refused for what cannot be exported.

    Only admins may include texts that may hold secrets (`include_flagged`).
    """
    secret_access.check_include_flagged(choices.get("include_flagged", False), is_admin=is_admin)
    with transaction.atomic():
        export = _request(name, format, task, by, choices)
        job = jobs.start("export", {"export_id": export.id}, by=by)
        return _with_job(export, job)


def make_here(
    name: str, format: str, task: str, *, by: str, listener: Listener | None = None, **choices: Any
) -> tuple[DatasetExport, JobRun]:
    """Ask for an export and build it in this process; the export and its job, however that ended.

    Whoever may run commands here may include texts that may hold secrets.
    """
    with transaction.atomic():  # whatever kills this process, the export has a job that says so
        export = _request(name, format, task, by, choices)
        started = jobs.start("export", {"export_id": export.id}, by=by)
        _with_job(export, started)
    job = jobs.run_now("export", {"export_id": export.id}, by=by, listener=listener)
    if job.id != started.id:  # a job worker was quicker, and does what was asked
        job = jobs.wait(started)
    _with_job(export, job)
    export.refresh_from_db()
    return export, job


def verify(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compare the files of the export `params["export_id"]` with what was written. Raises Refused without files."""
    export = DatasetExport.objects.filter(id=params["export_id"]).first()
    if export is None:
        raise Refused(exports.describe_missing_export())
    return verifying.verify(export, progress)


def start_verify(export: DatasetExport, *, by: str) -> JobRun:
    """Queue the comparison of an export's files, or return the one under way. Raises Refused without files."""
    if export.state != DatasetExport.State.READY:
        raise Refused(verifying.describe_no_files())
    return jobs.start("export_verify", {"export_id": export.id}, by=by)


def find_verification(export: DatasetExport) -> JobRun | None:
    """The latest comparison of an export's files, ended or not; None when there was none, or too long ago."""
    found = jobs.find_latest(("export_verify",), 1, params_json=JobRun.params.encode({"export_id": export.id}))
    return found[0] if found else None


def _request(name, format, task, by, choices):
    with transaction.atomic():
        exports.check_request(name, format, task, **choices)
        check_dataset_name(name, format)
        export = exports.create_export(name, format, task, by=by, **choices)
        told = {"format": format, "task": task}
        if choices.get("include_flagged"):
            told["include_flagged"] = True
        audit.record(by, "exported", object_type="export", object_id=export.id, **told)
    return export


def _with_job(export, job):
    # Not save(): the job may have written to the row already.
    DatasetExport.objects.filter(id=export.id).update(job_id=job.id)
    export.job_id = job.id
    return export


def _give_up(params):
    exports.give_up(params.get("export_id", ""), _("The export was canceled before it was complete."))


VERIFY_JOB = Kind(
    run=verify,
    label=gettext_lazy("Export check"),
    started=gettext_lazy("started an export check"),
    kept=gettext_lazy("No result is recorded."),
    done=lambda result: str(result["message"]),
    page="datasets:export_detail",
    page_params=("export_id",),
)
JOB = Kind(
    run=run,
    label=gettext_lazy("Export"),
    started=gettext_lazy("started an export"),
    kept=gettext_lazy("The unfinished files are removed."),
    undo=_give_up,
    page="datasets:export_detail",
    page_params=("export_id",),
)


def check_dataset_name(name: str, kind: str) -> None:
    """Raises Refused when files of another export have the names that those of an export of this format would get.

    Names of exports that came to nothing are free.
    """
    wanted = dataset_name(check_name(name), kind)
    others = (
        DatasetExport.objects.filter(export_format=kind)
        .exclude(state__in=STATES_WITHOUT_FILES)
        .order_by("exported_at", "id")
    )
    for other in others.values_list("export_name", flat=True):
        if wanted == dataset_name(other, kind):
            sentence = _("The files of the export %(name)s would have the same names. Choose another name.")
            raise Refused(sentence % {"name": other})
