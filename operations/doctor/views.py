"""Pages of the doctor: its last check, its runs, and the buttons."""

from django.conf import settings
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from collecting.models import MigrationRun, MigrationSource
from jobs import services as jobs
from jobs.notices import redirect_after_start
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import doctor_jobs, ignored_sessions, report
from .forms import AgainForm, DoctorForm, UnignoreForm
from .sources import source_findings

RUNS = 20
FILES = 100  # names of skipped files of each reason
SHOWN = 50  # maximum of sources, rejected lines and skipped items; the command prints all of them


@require_safe
@needs("operator")
def doctor(request):
    """The last check and the runs of `doctor --fix`."""
    return render_page(request, "operations/doctor.html", _build_context(request, DoctorForm()))


@require_POST
@needs("operator")
def doctor_look(request):
    """Start a check. It changes nothing."""
    return _start_job(request, "doctor_look", doctor_jobs.build_params())


@require_POST
@needs("admin")
def doctor_compare(request):
    """Start a check that also compares every record with its source. It changes nothing."""
    return _start_job(request, "doctor_look", doctor_jobs.build_params(deep=True))


@require_POST
@needs("admin")
def doctor_again(request):
    """Start a repeated import of one session, one agent, or everything."""
    form = AgainForm(request.POST)
    if not form.is_valid():
        context = _build_context(request, DoctorForm()) | {"again_form": form}
        return render(request, "operations/doctor.html", context, status=422)
    return _start_job(request, "collect", doctor_jobs.build_import_params(**form.cleaned_data))


@require_POST
@needs("admin")
def doctor_fix(request):
    """Start a run: backup, repairs, import, comparison."""
    form = DoctorForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/doctor.html", _build_context(request, form), status=422)
    params = doctor_jobs.build_params(by=request.user.username, **form.cleaned_data)
    return _start_job(request, "doctor", params)


@require_POST
@needs("admin")
def doctor_undo(request, run_id):
    """Start removing the sessions that a run imported.

    With `force` this is allowed when their files were moved or removed.
    """
    run = get_object_or_404(MigrationRun, id=run_id, status__in=doctor_jobs.UNDOABLE_STATUSES)
    forced = {"force": True} if request.POST.get("force") else {}
    params = {"run": run.id, "by": request.user.username} | forced
    return _start_job(request, "doctor_undo", params)


@require_POST
@needs("admin")
def doctor_unignore(request):
    """Start allowing undone sessions: one session, or all of a run."""
    form = UnignoreForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/doctor.html", _build_context(request, DoctorForm()), status=422)
    params = form.cleaned_data | {"by": request.user.username}
    return _start_job(request, "doctor_unignore", params)


def _start_job(request, kind, params):
    return redirect_after_start(request, jobs.start(kind, params, by=request.user.username))


def _build_losses(result):
    """The losses of a receipt: after a run those it could not recover, with their places."""
    is_after = bool(_get_reimport(result))
    receipt = result["run"] if is_after else result
    rows = [
        (loss, doctor_jobs.describe_whereabouts(loss, is_after=is_after)) for loss in receipt.get("losses", [])[:SHOWN]
    ]
    return {"rows": rows, "count": receipt.get("loss_count", 0), "records": receipt.get("lost_records", 0)}


def _build_skipped_files(result):
    """The skipped files of agents by reason, with the first names."""
    skipped = (result.get("files") or {}).get("skipped", {})
    return [
        {
            "reason": reason,
            "words": source_findings.format_reason(reason),
            "count": group["count"],
            "names": group["names"][:FILES],
            "is_cut": group["count"] > FILES,
        }
        for reason, group in skipped.items()
    ]


def _get_reimport(result):
    """The results of a run's repeated import; empty for a check, or without losses."""
    return (result.get("run") or {}).get("read_again") or {}


def _build_context(request, form):
    last = doctor_jobs.find_last_job()
    result = last.result if last else {}
    rows = MigrationRun.objects.defer("report_json", "before_json")
    page = page_of(rows, order=("-started_at", "-id"), **(read_cursors(request) | {"size": RUNS}))
    removed = MigrationSource.objects.filter(removed_source=True)
    emptied = {root for root in {run.root for run in page} if removed.filter(root=root).exists()}
    ignored = page_of(ignored_sessions.rows(), order=ignored_sessions.ORDER, size=SHOWN)
    # Findings about the store, without those that have a table of their own.
    findings = [finding for finding in result.get("store", []) if finding["check"] != "lost"]
    return {
        "form": form,
        "last": last,
        "active_job": doctor_jobs.find_active_job(),
        "failed_job": doctor_jobs.find_failed_job(),
        "result": result,
        "is_elsewhere": bool(result.get("source")) and result["source"]["root"] != str(settings.STATE_DIR),
        "is_well": not (report.is_incomplete(result["run"]) if result.get("run") else result.get("findings")),
        "compared": _get_reimport(result).get("compared") or result.get("compared"),
        "losses": _build_losses(result),
        "again_form": AgainForm(),
        "store": [finding for finding in findings if not (result.get("run") and finding["is_repairable"])],
        "sources": result.get("sources", [])[:SHOWN],
        "rejected": result.get("rejected", [])[:SHOWN],
        "skipped": result.get("skipped", [])[:SHOWN],
        "files": _build_skipped_files(result),
        "page": page,
        "runs": [(run, run.status in doctor_jobs.UNDOABLE_STATUSES, run.root in emptied) for run in page],
        "ignored": [_build_excluded(row) for row in ignored],
        "has_more_ignored": bool(ignored.next),
        "home": settings.STATE_DIR,
        "may_change": request.user.has_role("admin"),
    }


def _build_excluded(row):
    session = ignored_sessions.as_json(row)
    return session | {"what": f"{session['agent']}/{session['session_id']}"}
