"""Pages of one session: transcript, tables, live update, one record, one step."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from openclaw_web.pages.html import read_return_address, render_page, stop_polling

from ..models import Session, TrajectoryEvent, TranscriptEvent
from . import branch_records, jumps, live_update, page, pieces, steps
from .forms import PieceForm
from .session_forms import JumpForm, LiveForm, PlaceForm, TableForm


@require_safe
@agent_view_for("viewer")
def session_detail(request, agent, session_id):
    """One session, turn by turn; `next=` and `prev=` lead to the next place of a kind."""
    session = _get_session(agent, session_id)
    if "next" in request.GET or "prev" in request.GET:
        # Redirect to the next record of a kind; without one, back with a notice.
        kind, backwards, seq, branch = JumpForm(request.GET).read_jump()
        records = branch_records.find_branch_records(session, branch) or branch_records.BranchRecords(session)
        record_id = jumps.find_target(records, kind, seq, backwards=backwards)
        if record_id is None:
            messages.info(request, jumps.NO_TARGET_NOTICES[kind][backwards])
            return redirect(jumps.build_address(records, seq=seq, backwards=backwards))
        return redirect(jumps.build_address(records, record_id=record_id))
    context = _build_context(request, agent, session)
    context |= page.build_transcript_context(session, PlaceForm(request.GET), context["outline"])
    context["place_query"] = request.GET
    return render_page(request, "ledger/session_detail.html", context, partial="transcript_part")


@require_safe
@agent_view_for("viewer")
def session_turns(request, agent, session_id):
    """The turns of one session as a table."""
    session = _get_session(agent, session_id)
    context = _build_context(request, agent, session) | page.build_turns_context(
        session, **TableForm(request.GET).read_values()
    )
    return render_page(request, "ledger/session_turns.html", context)


@require_safe
@agent_view_for("viewer")
def session_branches(request, agent, session_id):
    """The abandoned branches of one session."""
    session = _get_session(agent, session_id)
    context = _build_context(request, agent, session) | page.build_branches_context(session)
    return render_page(request, "ledger/session_branches.html", context)


@require_safe
@agent_view_for("viewer")
def session_steps(request, agent, session_id):
    """The runs of one session, step by step."""
    session = _get_session(agent, session_id)
    context = _build_context(request, agent, session) | page.build_steps_context(
        session, **TableForm(request.GET).read_cursors()
    )
    return render_page(request, "ledger/session_steps.html", context)


@require_safe
@agent_view_for("viewer")
def session_savings(request, agent, session_id):
    """Savings by keeping the big outputs of one session off the prompt."""
    session = _get_session(agent, session_id)
    context = _build_context(request, agent, session) | page.build_savings_context(
        session, **TableForm(request.GET).read_cursors()
    )
    return render_page(request, "ledger/session_savings.html", context)


@require_safe
@agent_view_for("viewer")
def session_live(request, agent, session_id):
    """The changes since a page was rendered; 204 for none, 286 when it is over."""
    form = LiveForm(request.GET)
    page_state = form.read_state()
    if live_update.compare_session(agent.db, session_id, page_state) == "same":
        return HttpResponse(status=204)
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    update = live_update.read_update(session, page_state) if session else live_update.build_gone_update()
    session_url = session.get_absolute_url() if session else ""
    context = {
        "session": session,
        "session_url": session_url,
        "update": update,
        "place_query": form.build_place_query(),
    }
    context["may_label"] = request.user.has_role("labeller")
    response = render(request, "ledger/session_live.html", context)
    return stop_polling(response) if update.is_over else response


def _get_session(agent, session_id):
    known = (
        Session.objects.using(agent.db).select_related("prompt_report").annotate(has_steps=steps.has_steps(agent.db))
    )
    return get_object_or_404(known, id=session_id)


def _build_context(request, agent, session):
    """The context around the content of each page of a session."""
    may_label = request.user.has_role("labeller")
    return {
        "agent": agent,
        "may_label": may_label,
        "back": read_return_address(request),
        **page.build_session_context(session),
    }


@require_safe
@agent_view_for("viewer")
def record_detail(request, agent, session_id, record_id):
    """One whole record, in pieces."""
    events = TranscriptEvent.objects.using(agent.db).select_related("session")
    event = get_object_or_404(events, session_id=session_id, event_id=record_id)
    place = PieceForm(request.GET).read_place()
    context = {"agent": agent, "session": event.session, "event": event}
    context |= pieces.build_record_context(agent.agent_id, event, **place)
    return render_page(request, "ledger/record_detail.html", context, partial="piece")


@require_safe
@agent_view_for("viewer")
def step_detail(request, agent, session_id, step_id):
    """One step of a session's runs with all stored facts."""
    step = get_object_or_404(TrajectoryEvent.objects.using(agent.db), session_id=session_id, id=step_id)
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    context = {
        "agent": agent,
        "session": session,
        "step": step,
        "description": steps.describe_step(step),
        "facts_json": steps.format_facts(step),
    }
    return render_page(request, "ledger/step_detail.html", context)
