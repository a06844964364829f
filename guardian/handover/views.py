"""Pages of a change that was handed to an agent, and of a file's cure."""

from django.http import Http404
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page

from ..files import MEMORY_FILES
from . import cures, handovers, outcomes


@require_safe
@agent_view_for("operator")
def handover_detail(request, agent, handover_id):
    """Show what was handed to the agent, and what became of it."""
    row = _find_or_404(agent, handover_id)
    context = {
        "agent": agent,
        "handover": row,
        "job": handovers.find_job(agent, row),
        "sentence": outcomes.sentence_of(row),
        "can_check": outcomes.can_check(row),
        "difference": handovers.build_comparison(row),
    }
    return render_page(request, "guardian/handover_detail.html", context)


@require_POST
@agent_view_for("operator")
def handover_check(request, agent, handover_id):
    row = _find_or_404(agent, handover_id)
    try:
        outcomes.check_again(agent, row, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=row)
    return redirect_after_post(request, outcomes.sentence_of(row), to=row)


@require_safe
@agent_view_for("operator")
def file_cure(request, agent, name):
    """Show the whole file, and the text with which the agent writes it again."""
    if name not in MEMORY_FILES:
        raise Http404
    cure = cures.find_cure(agent, name)
    return render_page(request, "guardian/file_cure.html", {"agent": agent, "name": name, "cure": cure})


def _find_or_404(agent, handover_id):
    try:
        return handovers.find(agent.db, handover_id)
    except handovers.NoSuchHandover as refused:
        raise Http404 from refused
