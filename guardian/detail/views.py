"""Pages of one write, and parts of other pages: writes of turns and of a decision."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from agents.all_agents import read_all_agents
from agents.decorators import agent_view_for
from ledger.models import ConversationTurn
from ledger.session.session_forms import TurnNumbersForm
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.lists.neighbours import find_list_neighbours, read_list_filters
from openclaw_web.llm import endpoint
from openclaw_web.pages.html import render_page

from .. import services
from ..files import MEMORY_FILES
from ..handover import handovers
from ..models import FileSnapshot, WriteGuardianAudit
from ..rollbacks import concurrent_edits
from ..standing import read_standing
from . import line_blame, page, related_writes
from .audit_list import WRITES, AuditFilters


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(WRITES)
def audit_list(request, agent):
    """Show the writes that fit the filters, newest first; as a file with `format`."""
    return render_list(request, "guardian/audit_list.html", WRITES, agent=agent or read_all_agents())


CHIPS = 3  # writes beside one turn
SIDES = {"before": "before_snapshot_id", "after": "after_snapshot_id"}  # that an address may download


@require_safe
@agent_view_for("viewer")
def audit_detail(request, agent, audit_id):
    """Show one write: its change, reason and outcome; `download` is a side of the file.

    The links keep the filters of the list.
    """
    row = get_object_or_404(WriteGuardianAudit.objects.using(agent.db).placed(), id=audit_id)
    if side := SIDES.get(request.GET.get("download", "")):
        version = get_object_or_404(FileSnapshot.objects.using(agent.db), id=getattr(row, side))
        response = HttpResponse(services.read_version_bytes(version), content_type="application/octet-stream")
        response["Content-Disposition"] = content_disposition_header(True, version.file_name)
        return response
    filters = read_list_filters(AuditFilters, request.GET)
    context = {
        "agent": agent,
        "filters": filters,
        "in_list": find_list_neighbours(WRITES, agent, row, filters),
        "meanwhile": concurrent_edits.find_by_write(agent, row.id) if request.user.has_role("operator") else [],
        "handovers": handovers.find_by_write(agent.db, row.id) if request.user.has_role("operator") else [],
        "standing": read_standing(agent, row.target_file) if row.target_file in MEMORY_FILES else None,
        "no_endpoint": endpoint.describe_problem(),
        **page.build_write_context(agent, row, layout=request.GET.get("view", "")),
    }
    return render_page(request, "guardian/audit_detail.html", context)


@require_safe
@agent_view_for("viewer")
def session_writes(request, agent, session_id):
    """Show the writes of the turns on a session's page, each beside its turn.

    HTMX places them out of band.
    """
    numbers = TurnNumbersForm(request.GET).read_numbers()
    turns = ConversationTurn.objects.using(agent.db).filter(session_id=session_id, turn_number__in=numbers)
    ids = dict(turns.values_list("id", "turn_number"))
    writes_by_turn = related_writes.find_by_turn(agent.db, list(ids))
    remaining_lines = line_blame.find_remaining_by_write(
        agent, [row.id for rows in writes_by_turn.values() for row in rows]
    )
    rows = [
        (turn_id, ids[turn_id], related_writes.sort_written_first(rows)) for turn_id, rows in writes_by_turn.items()
    ]
    restored_ids = related_writes.find_restored_ids(
        agent.db, related_writes.get_rolled_back_ids(row for _id, _number, turn_writes in rows for row in turn_writes)
    )
    context = {
        "agent": agent,
        "session_id": session_id,
        "rows": rows,
        "remaining_lines": remaining_lines,
        "restored_ids": restored_ids,
        "chip_count": CHIPS,
        "may_roll_back": request.user.has_role("operator") and related_writes.has_changes(agent.db, session_id),
    }
    return render(request, "guardian/session_writes.html", context)


@require_safe
@agent_view_for("viewer")
def decision_writes(request, agent, decision_id):
    """Show the writes that a decision of memory_gate led to, for its page (HTMX)."""
    writes = related_writes.find_by_decision(agent.db, decision_id)
    restored_ids = related_writes.find_restored_ids(agent.db, related_writes.get_rolled_back_ids(writes))
    context = {"agent": agent, "writes": writes, "restored_ids": restored_ids, "decision_id": decision_id}
    return render(request, "guardian/decision_writes.html", context)
