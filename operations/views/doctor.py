"""The doctor: what its last look found, its runs, and the buttons that look, fix and take a run back."""

import orjson
from django.conf import settings
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import needs
from openclaw_web.html import after_post, render_page

from .. import jobs
from ..forms import DoctorForm
from ..models import JobRun, MigrationRun

RUNS = 20
LOOKS = ("doctor_look", "doctor")
TONES = {"running": "running", "completed": "ok", "warning": "warn", "failed": "bad", "undone": ""}
STATES = {"new": "info", "changed": "info", "unchanged": "", "left": ""}
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
    job = jobs.start("doctor_look", {"source": str(settings.STATE_DIR)}, by=request.user.username)
    return after_post(request, _("The doctor is looking."), to=job)


@require_POST
@needs("admin")
def doctor_fix(request):
    """Start a run: backup, repairs, import, comparison."""
    form = DoctorForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/doctor.html", _context(request, form), status=422)
    asked = {name: value for name, value in form.cleaned_data.items() if value and value != "keep"}
    params = {"source": str(settings.STATE_DIR), "by": request.user.username} | asked
    return after_post(request, _("The doctor is at work."), to=jobs.start("doctor", params, by=request.user.username))


@require_POST
@needs("admin")
def doctor_undo(request, run_id):
    """Start taking out the sessions that a run brought in."""
    run = get_object_or_404(MigrationRun, id=run_id, status__in=(MigrationRun.Status.COMPLETED, "warning"))
    params = {"run": run.id, "by": request.user.username}
    return after_post(
        request, _("The run is being undone."), to=jobs.start("doctor_undo", params, by=request.user.username)
    )


def _left(result):
    """What a run did not get done."""
    return result["run"]["warnings"] or [one for one in result["run"]["repairs"] if not one["is_done"]]


def _context(request, form):
    looks = JobRun.objects.filter(kind__in=LOOKS).order_by("-created_at", "-id").defer("log")
    last = looks.filter(state=JobRun.State.FINISHED).first()
    under_way = looks.filter(state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING)).defer("log", "result_json").first()
    result = orjson.loads(last.result_json or "{}") if last else {}
    runs = MigrationRun.objects.defer("report_json", "before_json").order_by("-started_at", "-id")[:RUNS]
    return {
        "form": form,
        "last": last,
        "under_way": under_way,
        "result": result,
        "is_well": not (_left(result) if result.get("run") else result.get("findings")),
        "sources": [(one, STATES.get(one["state"], "")) for one in result.get("sources", [])[:SHOWN]],
        "rejected": result.get("rejected", [])[:SHOWN],
        "skipped": result.get("skipped", [])[:SHOWN],
        "runs": [(run, TONES[run.status], run.status in ("completed", "warning")) for run in runs],
        "home": settings.STATE_DIR,
        "may_change": request.user.has_role("admin"),
    }
