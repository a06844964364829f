"""The runs of jobs, one of them as it goes on, and the button that starts a collect."""

import orjson
from django.conf import settings
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from agents.decorators import needs
from openclaw_web.html import after_post, render_page, stop_polling
from openclaw_web.paging import page_of
from operations import collect_report, jobs
from operations.models import JobRun

KIND_LABELS = {"collect": gettext_lazy("Collect"), "export": gettext_lazy("Export")}
RESULT_CHARACTERS = 20_000


@require_GET
@needs("viewer")
def job_list(request):
    rows = jobs.visible_to(request.user).defer("log", "result_json", "params_json")
    page = page_of(rows, order=("-created_at", "-id"), after=request.GET.get("after"))
    for job in page:
        job.label = KIND_LABELS.get(job.kind, job.kind)
    context = {"jobs": page, "sees_all": request.user.has_role("operator")}
    return render_page(request, "operations/job_list.html", context)


@require_GET
@needs("viewer")
def job_detail(request, job_id):
    job = jobs.visible_to(request.user).filter(id=job_id).first()
    if job is None:
        raise Http404
    result = orjson.loads(job.result_json or "{}")
    context = {
        "job": job,
        "label": KIND_LABELS.get(job.kind, job.kind),
        "made": _made(job),
        "reasons": result.get("reasons", []),
        "result": _in_words(job, result),
        "log": "\n".join(reversed(job.log.splitlines())),
    }
    response = render_page(request, "operations/job_detail.html", context, partial="job-state")
    return stop_polling(response) if request.htmx and job.has_ended else response


@require_POST
@needs("operator")
def collect_start(request):
    """Queue a collect of the configured home; the page of the one that is under way, if there is one."""
    job = jobs.start("collect", {"source": str(settings.STATE_DIR)}, by=request.user.username)
    return after_post(request, _("The collect is under way."), to=job)


def _made(job):
    """The address of what a finished job has made."""
    if job.state != JobRun.State.FINISHED:
        return None
    if job.kind == "collect":
        return reverse("operations:agent_list")
    if job.kind == "export":
        return reverse("operations:export_detail", args=[orjson.loads(job.params_json)["export_id"]])
    return None


def _in_words(job, result):
    if job.state != JobRun.State.FINISHED or not result:
        return ""
    if job.kind == "collect":
        return collect_report.in_words(result)
    return orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()[:RESULT_CHARACTERS]
