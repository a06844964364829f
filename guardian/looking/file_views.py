"""Memory files through their writes: history, who put each line there, what one write left, writes by week."""

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.diffs import comparing, unified
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import render_page

from .. import versions
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from ..standing import of as standing_of
from . import around, blamed, blaming, chains, history, missing, owners, shown, weeks
from .forms import BlameForm, ChartForm, HistoryForm


@require_safe
@agent_view
@needs("viewer")
def file_history(request, agent, name):
    """What happened to a memory file, newest first; with `from` and `to` also what changed between two versions."""
    if name not in MEMORY_FILES:
        raise Http404
    asked = None
    if request.GET.get("from") or request.GET.get("to"):
        asked = missing.versions_asked(agent, name, request)
    diff = comparing.compare(asked.old.content if asked.old else None, asked.new.content) if asked else None
    view = comparing.view(diff) if diff else None
    is_unified = request.GET.get("view") == shown.UNIFIED
    show = HistoryForm(request.GET).show
    size = history.SHOWN if show == history.EVERYTHING else history.SHOWN_FOLDED
    events = history.timeline(agent, name, size=size, **places(request))
    context = {
        "agent": agent,
        "name": name,
        "events": events,
        "rows": history.rows_of(events, show),
        "show": show,
        "taken": chains.taken(agent.db, history.rollbacks_among(events)),
        "back": chains.back_in_file(agent.db, around.rolled_back(event.audit for event in events if event.audit)),
        "chosen": (asked.old.id if asked.old else "", asked.new.id) if asked else history.two_newest(events),
        "has_versions": versions.of_file(agent, name).exists(),
        "asked": asked,
        "diff": diff,
        "view": unified.one_column(view) if view and is_unified else view,
        "is_unified": is_unified,
    }
    return render_page(request, "guardian/file_history.html", context)


@require_safe
@agent_view
@needs("viewer")
def blame(request, agent, name):
    """Who put each line of a memory file there: the write, its turn and its message."""
    if name not in MEMORY_FILES:
        raise Http404
    found, form = blaming.blame_of(agent, name), BlameForm(request.GET)
    if found is None:
        context = {"agent": agent, "name": name, "names": versions.memory_names(agent)}
        return render_page(request, "guardian/blame_unseen.html", context)
    missing.check_line(name, found, form.line, request.path)
    context = {
        "agent": agent,
        "name": name,
        "names": versions.memory_names(agent),
        **blamed.shown(agent, found, form.line, form.search),
        "standing": standing_of(agent, name),
    }
    return render_page(request, "guardian/blame.html", context)


@require_safe
@agent_view
@needs("viewer")
def audit_lines(request, agent, audit_id):
    """The lines that a write left in its file, for their place on its page (HTMX)."""
    row = get_object_or_404(WriteGuardianAudit.objects.using(agent.db).defer("diff"), id=audit_id)
    lines = blaming.lines_left_by(agent, [row.id])
    context = {"agent": agent, "audit": row, "lines": lines[: shown.MOST], "count": len(lines)}
    return render(request, "guardian/audit_lines.html", context)


@require_safe
@agent_view
@needs("viewer")
def opted_out(request, agent):
    """The lines of memory files that come from people who opted out, with the way to take them out."""
    found = owners.lines_of_people(agent)
    rows = [*found.theirs, *found.unknown]
    taken_back = [one.audit.id for one in rows if one.audit.status == WriteGuardianAudit.Status.ROLLED_BACK]
    context = {
        "agent": agent,
        "found": found,
        "most": shown.MOST,
        "titles": blamed.titles(agent.db, {one.turn.session_id for one in rows if one.turn}),
        "chains": chains.of_each(agent.db, taken_back),
    }
    return render_page(request, "guardian/opted_out.html", context)


@require_safe
@agent_view
@needs("viewer")
def chart(request, agent):
    """Writes, refusals, failures and rollbacks by week, of all files or of one."""
    asked = ChartForm(request.GET).asked
    found = weeks.weeks_of(agent, **asked)
    file = asked["file"]
    context = {
        "agent": agent,
        "asked": asked,
        "files": MEMORY_FILES,
        "choices": weeks.WEEKS,
        "chart": weeks.chart_of(agent, found, file),
        "labels": weeks.labels(),
        "rows": [(week, weeks.name_of(week), weeks.addresses(agent, week, file)) for week in reversed(found)],
        "total": sum(week.total for week in found),
    }
    return render_page(request, "guardian/chart.html", context)
