"""Pages of imports: start one, rejected records and skipped sources."""

from django.conf import settings
from django.db.models import Q, Sum
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.models import Agent
from automation.models import CronJob
from jobs import services as jobs
from jobs.notices import redirect_after_start
from ledger.lists.rejected_list import REJECTED
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.html import read_form, render_page
from openclaw_web.pages.not_found_page import MissingPart
from openclaw_web.pages.roles import needs
from overview.models import AgentSummary

from .folder_choice import FolderForm, count_left_out, find_home, has_plugin_files, read_imported_homes
from .skipped_list import SKIPPED


@require_POST
@needs("operator")
def collect_start(request):
    """Queue an import of the configured home and go to the new or active job."""
    job = jobs.start("collect", {"source": str(settings.STATE_DIR)}, by=request.user.username)
    return redirect_after_start(request, job)


@require_safe
@needs("viewer")
def import_summary(request):
    """Show what imports found in each folder, what they left out and why, and what is not there."""
    sums = AgentSummary.objects.aggregate(
        sessions=Sum("session_count"), turns=Sum("turn_count"), rejected=Sum("rejected_count")
    )
    context = {
        "homes": read_imported_homes(),
        "sums": sums,
        "left_out": count_left_out(),
        "has_plugin": has_plugin_files(),
    }
    return render_page(request, "collecting/import_summary.html", context | {"has_tasks": CronJob.objects.exists()})


@require_safe
@needs("admin")
def folder_choose(request):
    """Ask for a folder on this machine; with `folder`, show what an import would find there."""
    form = FolderForm(request.GET if "folder" in request.GET else {"folder": str(settings.STATE_DIR)})
    context = {"form": form, "home": None, "problem": ""}
    if "folder" in request.GET and form.is_valid():
        try:
            context["home"] = find_home(form.cleaned_data["folder"], form.cleaned_data["name"])
        except Refused as exc:
            context["problem"] = exc.sentence
    return render_page(request, "collecting/folder_choose.html", context, status=409 if context["problem"] else 200)


@require_POST
@needs("admin")
def folder_import(request):
    """Queue an import of a folder that was looked at and go to the job."""
    fields = read_form(FolderForm(request.POST), _("Write the path of a folder."))
    home = find_home(fields["folder"], fields["name"])
    job = jobs.start("collect", {"source": home.root, "as": fields["name"] or None}, by=request.user.username)
    return redirect_after_start(request, job)


@require_safe
@needs("viewer")
@shows(REJECTED)
def rejected_list(request):
    """Rejected lines: counts per agent, or the lines of `agent`; a file with `format`."""
    filters = REJECTED.filters(request.GET).validate()
    if not filters.cleaned_data["agent"]:
        with_some = AgentSummary.objects.filter(Q(rejected_count__gt=0) | Q(unknown_envelope_count__gt=0))
        agents = with_some.order_by("-rejected_count", "-unknown_envelope_count", "agent_id")
        return render_page(request, "collecting/rejected_agents.html", {"agents": agents})
    agent = Agent.objects.filter(agent_id=filters.cleaned_data["agent"]).first()
    if agent is None:
        raise MissingPart("agent")
    return render_list(request, "collecting/rejected_list.html", REJECTED, agent=agent, filters=filters)


@require_safe
@needs("viewer")
@shows(SKIPPED)
def skipped_list(request):
    """The sources that the last imports skipped; a file with `format`."""
    return render_list(request, "collecting/skipped_list.html", SKIPPED)
