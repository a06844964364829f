"""Pages of exports: the list with the form, one export, its files."""

from dataclasses import fields
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs import notices
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from jobs.services import visible_to
from openclaw_web.detectors.spans import BLOCKING
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_counts import count_rows, format_count
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.downloads import FileDownload
from openclaw_web.pages.html import render_page, stop_polling
from openclaw_web.pages.roles import needs

from ..finding_values.decisions import OPEN
from ..finding_values.value_list import VALUES
from ..finding_values.words import KIND_WORDS
from ..models import DatasetExport, DatasetSample
from . import exports, jobs, words
from .card import README
from .export_count import count_export
from .export_list import EXPORTS, WORKING, ExportFilters, resolve_state
from .exports import download_zip
from .forms import ExportForm
from .jobs import start_export, start_verify
from .options import FLAGGED, NEUTRAL_FORMAT, TAUGHT_BY, Options, check_download, count_flagged_rows, read_options
from .page import build_detail_context, build_preview
from .trainers import DATASETS_LINE, READS
from .turns import LEAVE_OUT
from .verification import INTACT

FINDINGS_MS = 30  # for each of three counts beside the form
OPTIONS = {field.name for field in fields(Options)}


@require_POST
@needs("labeller")
def export_count(request):
    """How many samples fit the form, for the place below it or as the page.

    With `preview`, the first rows too. Writes nothing.
    """
    form = ExportForm(request.POST)
    fits = count_fitting(request.user, form, has_preview="preview" in request.POST)
    if request.htmx:
        return render_page(request, "datasets/export_fits.html", {"fits": fits})
    return render_list_page(request, form, has_choices=True, fits=fits, status=200 if form.is_valid() else 422)


def count_fitting(user, form, *, has_preview=False):
    """The counts for the options chosen in a SampleForm as the page shows them, or the problem.

    The name may be missing. `has_preview`: with the first rows. A dataset has no format, and no rows before a reply.
    """
    form.fields["name"].required = False
    if not form.is_valid():
        sentences = [str(sentence) for errors in form.errors.values() for sentence in errors]
        return {"problem": " ".join([_("Correct the options to count samples."), *sentences])}
    choices = {name: value for name, value in form.read_choices().items() if name in OPTIONS}
    try:
        options = Options(**{"format": NEUTRAL_FORMAT} | choices)
        result = count_export(options)
        preview = build_preview(options) if has_preview else None
    except Refused as refused:
        return {"problem": refused.sentence}
    known = words.HISTORY_WORDS if "format" in choices else {}
    rows = [(word, result.histories.get(name), name == options.history) for name, word in known.items()]
    histories = rows if result.histories else []
    dominant = words.describe_dominant_set(result.largest_set, result.set_counted) if result.has_dominant_set else ""
    counted = {"problem": "", "result": result, "histories": histories, "dominant_set": dominant}
    chosen = {"format": words.FORMAT_WORDS.get(choices.get("format"), ""), "sample_filter": options.sample_filter}
    findings = {"findings": count_open_findings(user, options), "is_flagged": FLAGGED in options.include}
    return counted | chosen | findings | {"preview": preview, "kind": options.format}


def count_open_findings(user, options):
    """The open values in the texts of the agents, and those of each kind that blocks rows.

    Each as the kind in words, the number, the number in words, and the address of their list.
    """
    chosen = {"state": OPEN} | ({"agent": options.agent} if options.agent else {})
    address = reverse("datasets:finding_list")
    rows = []
    for kind in ("", *sorted(BLOCKING)):
        criteria = chosen | ({"kind": kind} if kind else {})
        count = count_rows(VALUES.fits(user, **criteria).all, column="value_hash", budget_ms=FINDINGS_MS)
        number = capfirst(format_count(count))
        rows.append((KIND_WORDS.get(kind, ""), count.count, number, f"{address}?{urlencode(criteria)}"))
    return rows


def read_export_files(export: DatasetExport, user: Any) -> dict[str, Any]:
    """The files of an export, each with its state in their latest comparison; none of one that is not ready.

    `line` of Python loads the rows, in the folder of the export: empty where there is no card. `result` is that of the
    comparison, which `job` made: `wrong` are files that are not intact, `others` those that the manifest does not name.
    `is_for_admins`: the files are for admins, and this person is none.
    """
    is_ready = export.state == DatasetExport.State.READY
    files = exports.list_files(export) if is_ready else []
    job = jobs.find_verification(export) if is_ready else None
    result = job.result if job and job.state == JobRun.State.FINISHED else {}
    states = {file["name"]: file for file in result.get("files", [])}
    names = {file.name for file in files}
    return {
        "rows": [(file, states.get(file.name, {})) for file in files],
        "line": DATASETS_LINE if README in names else "",
        "job": job,
        "result": result,
        "is_for_admins": bool(count_flagged_rows(export)) and not user.has_role("admin"),
        "may_verify": user.has_role("labeller"),
        "is_verifying": job is not None and not job.has_ended,
        "wrong": [file for file in states.values() if file["state"] != INTACT],
        "others": [file for name, file in states.items() if name not in names],
    }


@require_safe
@needs("viewer")
@shows(EXPORTS)
def export_list(request):
    """The exports that match the filters, newest first, and the form for a new one.

    With `format`, the list is a file.

    With other fields of the form than the ones that filters share, the address is what a new export starts with.
    """
    known = ExportForm.read_initial(request.GET)
    known = known if known.keys() - {"format", "task"} else {}
    readers = [trainer for trainer, formats in READS.items() if known.get("format", formats[0]) in formats]
    initial = {"trainer": (readers or ["trl"])[0]} | known
    return render_list_page(request, ExportForm(initial=initial), has_choices=bool(known))


@require_POST
@needs("labeller")
def export_create(request):
    """Create an export and go to its page, which shows the progress."""
    form = ExportForm(request.POST)
    if form.is_valid():
        try:
            is_admin = request.user.has_role("admin")
            export = start_export(by=request.user.username, is_admin=is_admin, **form.read_choices())
        except Refused as refused:  # shown beside the chosen options, which can be corrected
            form.add_error(None, refused.sentence)
        else:
            return redirect_after_start(request, JobRun(id=export.job_id), to=export)
    return render_list_page(request, form, has_choices=True, status=422)


@require_safe
@needs("viewer")
def export_detail(request, export_id):
    """One export: its progress, then its files, or the rows that prevent it."""
    export = get_object_or_404(DatasetExport, id=export_id)
    job = JobRun.objects.filter(id=export.job_id).defer("log", "result_json").first()
    is_working = export.state in WORKING and (job is None or not job.has_ended)
    # The address of the form with the same options, for another try.
    chosen = read_options(export)
    names = [field.name for field in fields(chosen) if field.name in ExportForm.base_fields]
    values = {name: value for name in names if (value := getattr(chosen, name)) not in (None, "")}
    if chosen.agent and "agent:" not in chosen.sample_filter:
        values["sample_filter"] = f"agent:{chosen.agent} {chosen.sample_filter}".strip()
    values |= {name: "on" if value else "" for name, value in values.items() if isinstance(value, bool)}
    if chosen.sample_types == TAUGHT_BY[chosen.task]:  # of another task they would be others
        del values["sample_types"]
    name = {"name": export.export_name} if export.state in exports.STATES_WITHOUT_FILES else {}
    # The rows that prevent an export, each with its sample, if there is one.
    reasons = export.reasons
    ids = [reason["id"] for reason in reasons]
    known = {sample.id: sample for sample in DatasetSample.objects.filter(id__in=ids).only("id")}
    context = {
        "export": export,
        "job": job,
        "is_working": is_working,
        "state": resolve_state(export, is_working),
        "problem": _problem(export, job, is_working),
        "options": _describe_options(export),
        "again": "?" + urlencode({**name, **values}, doseq=True),
        "reasons": [{**reason, "sample": known.get(reason["id"])} for reason in reasons],
        "may_export": request.user.has_role("labeller"),
        "job_href": job.get_absolute_url() if job and visible_to(request.user).filter(id=job.id).exists() else None,
        **_describe_content(export, request.GET),
        "about_files": (files_context := read_export_files(export, request.user)),
        **build_detail_context(request, export),
    }
    for ended_job in (job, files_context["job"]):
        if ended_job and ended_job.has_ended and request.htmx:
            notices.mark_seen(request, ended_job)
    response = render_page(request, "datasets/export_detail.html", context, partial="export_state")
    return response if is_working or files_context["is_verifying"] or not request.htmx else stop_polling(response)


@require_safe
@needs("viewer")
def export_file(request, export_id, name):
    """One file of a ready export, as a download."""
    export = get_object_or_404(DatasetExport, id=export_id)
    path = exports.find_file_to_send(export, name)
    if path is None:
        raise Http404
    check_download(export, name, by=request.user.username, is_admin=request.user.has_role("admin"))
    return FileDownload(path, as_attachment=True, filename=name, content_type=exports.content_type(name))


@require_safe
@needs("viewer")
def export_zip(request, export_id):
    """All files of a ready export, as one download."""
    export = get_object_or_404(DatasetExport, id=export_id, state=DatasetExport.State.READY)
    check_download(export, None, by=request.user.username, is_admin=request.user.has_role("admin"))
    return download_zip(export)


@require_POST
@needs("labeller")
def export_verify(request, export_id):
    """Queue a job that compares the files of a ready export with what was written.

    The result is on the page of the export.
    """
    export = get_object_or_404(DatasetExport, id=export_id, state=DatasetExport.State.READY)
    return redirect_after_start(request, start_verify(export, by=request.user.username), to=export)


def render_list_page(request, form, *, has_choices, status=200, **more):
    """The list with the form for a new export.

    With `has_choices`, the form alone, as it was sent.
    """
    if not request.user.has_role("admin"):
        form.fields["include"].choices = [row for row in form.fields["include"].choices if row[0] != FLAGGED]
    return render_list(
        request,
        "datasets/export_list.html",
        EXPORTS,
        filters=ExportFilters(QueryDict() if has_choices else request.GET).validate(),
        form=form,
        has_choices=has_choices,
        may_export=request.user.has_role("labeller"),
        may_include_pii=request.user.has_role("admin"),
        status=status,
        **{"fits": None, **more},
    )


def _problem(export, job, is_working):
    if export.state in (DatasetExport.State.REFUSED, DatasetExport.State.FAILED):
        return export.sentence
    return job.message if job and export.state in WORKING and not is_working else ""


def _describe_content(export, query):
    """The content of a ready export, in words."""
    manifest = export.manifest
    return {
        "manifest": manifest,
        "excluded": words.page_left_out(manifest.get("excluded", []), query),
        "transformations": [
            (words.CHANGES[name], rows, manifest.get("transformed_samples", {}).get(name, []))
            for name, rows in manifest.get("transformations", {}).items()
        ],
        "notes": [words.NOTES[name] for name in manifest.get("notes", [])],
        "redactions": words.describe_redactions(manifest),
        "prompts": words.describe_prompts(manifest),
    }


def _describe_options(export):
    """The options of an export, as its page shows them."""
    chosen = read_options(export)
    return {
        "format": words.FORMAT_WORDS.get(export.export_format, export.export_format),
        "task": words.TASK_WORDS.get(export.task, export.task),
        "history": words.HISTORY_WORDS[chosen.history] if chosen.shape.has_history else None,
        "tool_calls": _describe_tool_calls(chosen),
        "parallel_calls": words.PARALLEL_WORDS.get(chosen.parallel_calls) if chosen.shape.has_history else None,
        "duplicates": words.DUPLICATE_WORDS[chosen.duplicates],
        "caps": [(label, most) for name, label in words.CAP_WORDS.items() if (most := getattr(chosen, name))],
        "included": list(_list_included(chosen)),
        "chosen": chosen,
    }


def _list_included(chosen):
    """The optional kinds of samples, in words, and whether the export has them."""
    for kind, word in words.INCLUDED_WORDS.items():
        if kind != FLAGGED or FLAGGED in chosen.include:
            yield word, kind in chosen.include
    if chosen.rebuild_system:
        yield _("System prompts rebuilt from stored files"), True
    if chosen.include_pii:
        yield _("Personal data"), True


def _describe_tool_calls(chosen):
    """The tool calls of rows, in words; None where rows have no place for them."""
    if chosen.shape.has_history or chosen.shape.needs_branch:
        return words.TOOL_CALL_WORDS[chosen.tool_calls]
    is_alpaca = (chosen.format, chosen.task) == (DatasetExport.Format.ALPACA, DatasetExport.Task.REPLY)
    return words.TOOL_CALL_WORDS[LEAVE_OUT] if is_alpaca else None
