"""Pages of memory files: remaining lines, opted-out lines, writes by week; old addresses of a file."""

from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from openclaw_web.pages.formatting import days_in_words
from openclaw_web.pages.html import render_page

from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from . import document, line_blame, opted_out_lines, page, related_writes, weeks


@require_safe
@agent_view_for("viewer")
def moved(request, agent, name):
    """Lead from an old address of a memory file, its history or its lines, to its page."""
    if name not in MEMORY_FILES:
        raise Http404
    query = request.GET.urlencode()
    address = reverse("guardian:file_detail", args=[agent.agent_id, name])
    return redirect(f"{address}?{query}" if query else address)


@require_safe
@agent_view_for("viewer")
def audit_lines(request, agent, audit_id):
    """Show the lines that a write left in its file, for its page (HTMX)."""
    row = get_object_or_404(WriteGuardianAudit.objects.using(agent.db).defer("diff"), id=audit_id)
    lines = line_blame.find_remaining_lines(agent, [row.id])
    context = {"agent": agent, "audit": row, "lines": lines[: page.MAX_ROWS], "count": len(lines)}
    return render(request, "guardian/audit_lines.html", context)


@require_safe
@agent_view_for("viewer")
def opted_out(request, agent):
    """Show the lines of memory files that come from people who opted out."""
    opted_out_result = opted_out_lines.find_opted_out_lines(agent)
    rows = [*opted_out_result.theirs, *opted_out_result.unknown]
    rolled_back_ids = [
        write_lines.audit.id
        for write_lines in rows
        if write_lines.audit.status == WriteGuardianAudit.Status.ROLLED_BACK
    ]
    context = {
        "agent": agent,
        "opted_out_lines": opted_out_result,
        "most": page.MAX_ROWS,
        "titles": document.read_titles(
            agent.db, {write_lines.turn.session_id for write_lines in rows if write_lines.turn}
        ),
        "chains": related_writes.read_chains(agent.db, rolled_back_ids),
    }
    return render_page(request, "guardian/opted_out.html", context)


@require_safe
@agent_view_for("viewer")
def chart(request, agent):
    """Show writes, refusals, failures and rollbacks by week, of all files or of one."""
    file = request.GET.get("file", "")
    file = file if file in MEMORY_FILES else ""
    count = next((number for number in weeks.WEEKS if str(number) == request.GET.get("weeks")), weeks.WEEKS[0])
    chart_filters = {"file": file, "weeks": count}
    week_counts = weeks.count_weeks(agent, **chart_filters)
    context = {
        "agent": agent,
        "chart_filters": chart_filters,
        "files": MEMORY_FILES,
        "choices": weeks.WEEKS,
        "chart": weeks.build_chart(agent, week_counts, file),
        "labels": weeks.get_labels(),
        "rows": [
            (week, days_in_words(week.start, week.end), weeks.build_addresses(agent, week, file))
            for week in reversed(week_counts)
        ],
        "total": sum(week.total for week in week_counts),
    }
    return render_page(request, "guardian/chart.html", context)
