"""Pages of the releases and files that have a sample, and the export without it."""

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from ..models import DatasetExport, DatasetVersion
from . import lineage, taints


@require_safe
@needs("viewer")
def sample_uses(request, sample_id):
    """The releases and rows that have a sample."""
    context = {
        "members": lineage.find_members(sample_id),
        "rows": lineage.find_rows(sample_id),
        "sample_id": sample_id,
    }
    return render_page(request, "datasets/sample_uses.html", context)


@require_safe
@needs("viewer")
def write_uses(request, agent, audit_id):
    """The files that learnt a write, with the export without it when it was rolled back."""
    owner = get_object_or_404(Agent, agent_id=agent)
    write = get_object_or_404(WriteGuardianAudit.objects.using(owner.db), id=audit_id)
    samples = lineage.find_write_samples(owner, write)
    context = {
        "write": write,
        "is_rolled_back": WriteGuardianAudit.objects.using(owner.db).taken_back().filter(id=write.id).exists(),
        "rows": [place for sample_id in samples for place in lineage.find_rows(sample_id)],
        "may_export": request.user.has_role("labeller"),
    }
    return render_page(request, "datasets/write_uses.html", context)


@require_POST
@needs("labeller")
def export_again(request, export_id):
    """Export once more without writes that were rolled back, or members that should not be used."""
    export = get_object_or_404(DatasetExport, id=export_id)
    with transaction.atomic():
        if version := DatasetVersion.objects.filter(id=export.version_id).first():
            taints.start_check(version, by=request.user.username)
        another = lineage.start_again(export, by=request.user.username, is_admin=request.user.has_role("admin"))
    return redirect_after_start(request, JobRun(id=another.job_id), to=another)
