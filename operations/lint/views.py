"""Lines of collected prompts and files that would pour whole outputs into a context."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from artifacts.lint import RULES
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import findings


@require_safe
@agent_view
@needs("viewer")
def lint_list(request, agent):
    """The findings of an agent: those of its scheduled jobs first, then file by file."""
    looked = findings.read_page(agent, **read_cursors(request))
    return render_page(request, "operations/lint_list.html", {"agent": agent, "looked": looked, "rules": RULES})
