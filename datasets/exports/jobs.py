"""Exports as jobs, started on the page, by the API or in a terminal."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.kinds import Kind, as_json
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web.errors import Refused
from people.audit import log as audit

from ..models import DatasetExport
from . import exports, verification
from .exports import STATES_WITHOUT_FILES
from .files import dataset_name
from .options import FLAGGED, check_choices, check_name
from .row_files import store_difference


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Build the export `params["export_id"]`, and return what is in it.

    The result is a value of JSON.
    """
    running = DatasetExport.objects.filter(id=params["export_id"], state=DatasetExport.State.RUNNING)
    is_begun = running.exists()
    manifest = exports.build_export(params["export_id"], progress)
    store_difference(DatasetExport.objects.get(id=params["export_id"]))
    facts = {"export_id": params["export_id"], "counts": manifest["counts"], "files": manifest["files"]}
    if is_begun:
        facts["message"] = _("Interrupted before: the unfinished files were removed, and all files were written again.")
    return facts


def start_export(
    name: str, format: str, task: str, *, by: str, is_admin: bool = False, **choices: Any
) -> DatasetExport:
    """Create an export and queue the job that builds it.

    Raises Refused for options that cannot be exported. Only admins may include personal data (`include_pii`), and
    findings that nobody judged.
    """
    include, include_pii = choices.get("include", ()), choices.get("include_pii", False)
    check_choices(include=include, include_pii=include_pii, is_admin=is_admin)
    with transaction.atomic():
        export = _create_export(name, format, task, by, choices)
        job = jobs.start("export", {"export_id": export.id}, by=by)
        return _store_job(export, job)


def make_here(
    name: str, format: str, task: str, *, by: str, listener: Listener | None = None, **choices: Any
) -> tuple[DatasetExport, JobRun]:
    """Create an export and build it in this process.

    Returns the export and its job, however that ended. People who may run commands here may include what only admins
    may.
    """
    with transaction.atomic():  # if this process is killed, the export has a job that says so
        export = _create_export(name, format, task, by, choices)
        started = jobs.start("export", {"export_id": export.id}, by=by)
        _store_job(export, started)
    job = jobs.run_started(started, listener)
    _store_job(export, job)
    export.refresh_from_db()
    return export, job


def verify(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compare the files of the export `params["export_id"]` with what was written.

    Raises Refused for an export without files.
    """
    export = DatasetExport.objects.filter(id=params["export_id"]).first()
    if export is None:
        raise Refused(exports.describe_missing_export())
    return verification.verify(export, progress)


def start_verify(export: DatasetExport, *, by: str) -> JobRun:
    """Queue the comparison of an export's files, or return the job under way.

    Raises Refused for an export without files.
    """
    if export.state != DatasetExport.State.READY:
        raise Refused(verification.describe_no_files())
    return jobs.start("export_verify", {"export_id": export.id}, by=by)


def find_verification(export: DatasetExport) -> JobRun | None:
    """The latest job that compared an export's files, ended or not.

    None when there was none, or when it was too long ago.
    """
    return jobs.find_last("export_verify", {"export_id": export.id})


def _create_export(name, format, task, by, choices):
    with transaction.atomic():
        exports.check_request(name, format, task, **choices)
        check_dataset_name(name, format)
        export = exports.create_export(name, format, task, by=by, **choices)
        details = {"format": format, "task": task}
        details |= {"include_flagged": True} if FLAGGED in choices.get("include", ()) else {}
        details |= {"include_pii": True} if choices.get("include_pii") else {}
        audit.record(by, "exported", object_type="export", object_id=export.id, **details)
    return export


def _store_job(export, job):
    # Not save(): the job may have written to the row already.
    DatasetExport.objects.filter(id=export.id).update(job_id=job.id)
    export.job_id = job.id
    return export


def _give_up(params):
    exports.give_up(params.get("export_id", ""), _("The export was canceled before it was complete."))


VERIFY_JOB = Kind(
    run=verify,
    label=gettext_lazy("Export check"),
    audit_text=gettext_lazy("started an export check"),
    cancel_text=gettext_lazy("No result is recorded."),
    page="datasets:export_detail",
    page_params=("export_id",),
)
JOB = Kind(
    run=run,
    label=gettext_lazy("Export"),
    audit_text=gettext_lazy("started an export"),
    cancel_text=gettext_lazy("The unfinished files are removed."),
    undo=_give_up,
    describe_result=as_json,
    page="datasets:export_detail",
    page_params=("export_id",),
)


def check_dataset_name(name: str, kind: str) -> None:
    """Raises Refused when another export's files would have the same names.

    The files of both could not lie in one folder. Names of exports that failed or were refused are free.
    """
    dataset = dataset_name(check_name(name), kind)
    others = (
        DatasetExport.objects.filter(export_format=kind)
        .exclude(state__in=STATES_WITHOUT_FILES)
        .order_by("exported_at", "id")
    )
    for other in others.values_list("export_name", flat=True):
        if dataset == dataset_name(other, kind):
            sentence = _("The files of the export %(name)s would have the same names. Choose another name.")
            raise Refused(sentence % {"name": other})
