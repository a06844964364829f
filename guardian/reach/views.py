"""The page that says who was told a line of a memory file."""

from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from openclaw_web.pages.html import render_page

from ..models import WriteGuardianAudit
from .contexts import REPORT, TIME, TOOL, find_reach
from .replies import find_replies
from .subject import list_lines

SHOWN = 200  # turns of each list


@require_safe
@agent_view_for("viewer")
def reach(request, agent, audit_id):
    """Who was told the lines of a write: proven, probably, and the replies that repeat them."""
    write = get_object_or_404(WriteGuardianAudit.objects.using(agent.db), id=audit_id)
    lines = list_lines(write)
    line_reach = find_reach(agent, write.target_file or "", lines)
    values = {
        "agent": agent,
        "write": write,
        "lines": lines,
        "reach": line_reach,
        "proven": line_reach.list_ways(TOOL, REPORT),
        "probable": line_reach.list_ways(TIME),
        "replies": find_replies(agent, write.target_file or "", lines),
        "most": SHOWN,
        "may_label": request.user.has_role("labeller"),
    }
    return render_page(request, "guardian/reach.html", values)
