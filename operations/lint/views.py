"""The page of lines in prompts and files that would read whole outputs into a context."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from artifacts.lint import RULES
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page

from . import findings


@require_safe
@agent_view_for("viewer")
def lint_list(request, agent):
    """The findings of an agent: scheduled jobs first, then files."""
    result = findings.read_page(agent, **read_cursors(request))
    return render_page(request, "operations/lint_list.html", {"agent": agent, "result": result, "rules": RULES})
