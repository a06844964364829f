"""The doctor: what its last look found, its runs, and the buttons that look, fix and take a run back."""

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
SHOWN = 50  # sources, rejected lines and skipped things; the command tells all of them


@require_safe
@needs("operator")
def doctor(request):
    """What the last look found, and the runs of `doctor --fix`."""
    return render_page(request, "operations/doctor.html", _context(request, DoctorForm()))


@require_POST
@needs("operator")
def doctor_look(request):
    """Start a look; nothing is changed."""
    return _started(request, "doctor_look", doctor_jobs.build_params())


@require_POST
@needs("admin")
def doctor_compare(request):
    """Start a look that also compares every record with its source; nothing is changed."""
    return _started(request, "doctor_look", doctor_jobs.build_params(deep=True))


@require_POST
@needs("admin")
def doctor_again(request):
    """Start reading again: one session, all of one agent, or all there is."""
    form = AgainForm(request.POST)
    if not form.is_valid():
        context = _context(request, DoctorForm()) | {"again": form}
        return render(request, "operations/doctor.html", context, status=422)
    return _started(request, "collect", doctor_jobs.build_import_params(**form.cleaned_data))


@require_POST
@needs("admin")
def doctor_fix(request):
    """Start a run: backup, repairs, import, comparison."""
    form = DoctorForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/doctor.html", _context(request, form), status=422)
    params = doctor_jobs.build_params(by=request.user.username, **form.cleaned_data)
    return _started(request, "doctor", params)


@require_POST
@needs("admin")
def doctor_undo(request, run_id):
    """Start taking out the sessions that a run brought in; with `force` also when their files are not in place."""
    run = get_object_or_404(MigrationRun, id=run_id, status__in=doctor_jobs.UNDOABLE_STATUSES)
    forced = {"force": True} if request.POST.get("force") else {}
    params = {"run": run.id, "by": request.user.username} | forced
    return _started(request, "doctor_undo", params)


@require_POST
@needs("admin")
def doctor_unignore(request):
    """Start letting in again what was undone: one session, or all of a run."""
    form = UnignoreForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/doctor.html", _context(request, DoctorForm()), status=422)
    params = form.cleaned_data | {"by": request.user.username}
    return _started(request, "doctor_unignore", params)


def _started(request, kind, params):
    return redirect_after_start(request, jobs.start(kind, params, by=request.user.username))


def _losses(result):
    """What is lost: after a run what it could not bring back, with where each is; before one what was found."""
    is_after = bool(_read_again(result))
    found = result["run"] if is_after else result
    rows = [(one, doctor_jobs.describe_whereabouts(one, is_after=is_after)) for one in found.get("losses", [])[:SHOWN]]
    return {"rows": rows, "count": found.get("loss_count", 0), "records": found.get("lost_records", 0)}


def _files(result):
    """The files of agents that were skipped, by reason, with the names of the first."""
    skipped = (result.get("files") or {}).get("skipped", {})
    return [
        {
            "reason": reason,
            "words": source_findings.format_reason(reason),
            "count": one["count"],
            "names": one["names"][:FILES],
            "is_cut": one["count"] > FILES,
        }
        for reason, one in skipped.items()
    ]


def _read_again(result):
    """What a run read again and compared after that; empty for a look, or when nothing was lost."""
    return (result.get("run") or {}).get("read_again") or {}


def _context(request, form):
    last = doctor_jobs.find_last_job()
    result = last.result if last else {}
    rows = MigrationRun.objects.defer("report_json", "before_json")
    page = page_of(rows, order=("-started_at", "-id"), **(read_cursors(request) | {"size": RUNS}))
    removed = MigrationSource.objects.filter(removed_source=True)
    emptied = {root for root in {run.root for run in page} if removed.filter(root=root).exists()}
    ignored = page_of(ignored_sessions.rows(), order=ignored_sessions.ORDER, size=SHOWN)
    return {
        "form": form,
        "last": last,
        "under_way": doctor_jobs.find_active_job(),
        "broken": doctor_jobs.find_failed_job(),
        "result": result,
        "is_elsewhere": bool(result.get("source")) and result["source"]["root"] != str(settings.STATE_DIR),
        "is_well": not (report.is_incomplete(result["run"]) if result.get("run") else result.get("findings")),
        "compared": _read_again(result).get("compared") or result.get("compared"),
        "losses": _losses(result),
        "again": AgainForm(),
        "store": _still_so(result),
        "sources": result.get("sources", [])[:SHOWN],
        "rejected": result.get("rejected", [])[:SHOWN],
        "skipped": result.get("skipped", [])[:SHOWN],
        "files": _files(result),
        "page": page,
        "runs": [(run, run.status in doctor_jobs.UNDOABLE_STATUSES, run.root in emptied) for run in page],
        "ignored": [_ignored(row) for row in ignored],
        "has_more_ignored": bool(ignored.next),
        "home": settings.STATE_DIR,
        "may_change": request.user.has_role("admin"),
    }


def _still_so(result):
    """Findings about the store, without those that a table of its own tells.

    After a run also without those that it was to mend: `repairs` says what became of them.
    """
    found = [one for one in result.get("store", []) if one["check"] != "lost"]
    return [one for one in found if not (result.get("run") and one["is_repairable"])]


def _ignored(row):
    one = ignored_sessions.as_json(row)
    return one | {"what": f"{one['agent']}/{one['session_id']}"}
