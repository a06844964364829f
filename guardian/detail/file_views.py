"""Pages of memory files: history, blame, remaining lines, opted-out lines, writes by week."""

from django import forms
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from agents.models import Agent
from openclaw_web.diffs import line_diff, unified_format
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.formatting import days_in_words
from openclaw_web.pages.html import render_page

from .. import versions, views
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from ..standing import read_standing
from . import blame_page, history, line_blame, opted_out_lines, page, related_writes, weeks
from .line_blame import Blame

LONGEST_SEARCH = 200  # characters


class BlameForm(forms.Form):
    """The first line on the page, or the words that lines have to contain."""

    first_line = forms.IntegerField(required=False, min_value=1, max_value=10_000_000)
    words = forms.CharField(required=False, max_length=LONGEST_SEARCH)

    def __init__(self, data):
        super().__init__({"first_line": data.get("line", ""), "words": data.get("q", "")[:LONGEST_SEARCH]})

    @property
    def line(self) -> int:
        """The requested line; the first one where the address has no valid one."""
        self.is_valid()
        return self.cleaned_data.get("first_line") or 1

    @property
    def search(self) -> str:
        """The words that lines have to contain; empty: all lines."""
        self.is_valid()
        return self.cleaned_data.get("words", "")


@require_safe
@agent_view_for("viewer")
def file_history(request, agent, name):
    """Show the history of a memory file, newest first.

    With `from` and `to` also the change between two versions.
    """
    if name not in MEMORY_FILES:
        raise Http404
    file_request = None
    if request.GET.get("from") or request.GET.get("to"):
        file_request = find_requested_versions(agent, name, request)
    diff = (
        line_diff.compare(file_request.old.content if file_request.old else None, file_request.new.content)
        if file_request
        else None
    )
    view = line_diff.build_view(diff) if diff else None
    is_unified = request.GET.get("view") == page.UNIFIED
    show = request.GET.get("show", "")
    show = show if show in (history.CHANGES, history.EVERYTHING) else history.FOLDED
    size = history.PAGE_SIZE if show == history.EVERYTHING else history.FOLDED_PAGE_SIZE
    events = history.read_timeline(agent, name, size=size, **read_cursors(request))
    context = {
        "agent": agent,
        "name": name,
        "events": events,
        "rows": history.build_rows(events, show),
        "show": show,
        "rollback_subjects": related_writes.read_subjects(agent.db, history.find_rollback_ids(events)),
        "restored_ids": related_writes.find_restored_ids(
            agent.db, related_writes.get_rolled_back_ids(event.audit for event in events if event.audit)
        ),
        "chosen": (file_request.old.id if file_request.old else "", file_request.new.id)
        if file_request
        else history.find_two_newest(events),
        "has_versions": versions.find_versions(agent, name).exists(),
        "file_request": file_request,
        "diff": diff,
        "view": unified_format.to_one_column(view) if view and is_unified else view,
        "is_unified": is_unified,
    }
    return render_page(request, "guardian/file_history.html", context)


@require_safe
@agent_view_for("viewer")
def blame(request, agent, name):
    """Show who wrote each line of a memory file: the write, its turn and its message."""
    if name not in MEMORY_FILES:
        raise Http404
    file_blame, form = line_blame.blame_file(agent, name), BlameForm(request.GET)
    if file_blame is None:
        context = {"agent": agent, "name": name, "names": versions.find_memory_names(agent)}
        return render_page(request, "guardian/blame_unseen.html", context)
    check_line(name, file_blame, form.line, request.path)
    context = {
        "agent": agent,
        "name": name,
        "names": versions.find_memory_names(agent),
        **blame_page.build_blame_context(agent, file_blame, form.line, form.search),
        "standing": read_standing(agent, name),
    }
    return render_page(request, "guardian/blame.html", context)


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
        "titles": blame_page.read_titles(
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


class NotInFile(Refused):
    """The file has no such line, or had no such version."""

    status = 404


def check_line(name: str, file_blame: Blame, line: int, path: str) -> None:
    """Raise NotInFile when the file ends before a line.

    `path` is the address of its page without parameters.
    """
    count = len(file_blame.lines)
    if line > max(count, 1):
        words = {"file": name, "count": f"{count:,}"}
        sentence = ngettext("%(file)s has %(count)s line.", "%(file)s has %(count)s lines.", count) % words
        raise NotInFile(sentence, ways=[(_("Who wrote %(file)s") % words, path)])


def find_requested_versions(agent: Agent, name: str, request: HttpRequest) -> views.FileRequest:
    """Return the versions that an address of the history names.

    Raises NotInFile for one that does not exist.
    """
    try:
        return views.read_file_request(agent, name, request.GET)
    except Http404 as exc:
        words = {"file": name}
        sentence = _("This version of %(file)s does not exist.") % words
        raise NotInFile(sentence, ways=[(_("History of %(file)s") % words, request.path)]) from exc
