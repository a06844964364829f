"""One session to read: its transcript, the tables beside it, what is new in it; one record whole, one step of a run."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.pages.html import read_return_address, render_page, stop_polling
from openclaw_web.pages.roles import needs

from ..models import Session, TrajectoryEvent, TranscriptEvent, TranscriptEventIdentity
from . import branch_records, jumps, live_update, page, pieces, steps
from .forms import PieceForm
from .session_forms import JumpForm, LiveForm, PlaceForm, TableForm


@require_safe
@agent_view
@needs("viewer")
def session_detail(request, agent, session_id):
    """One session, turn by turn; `next=` and `prev=` lead to the next place of a kind."""
    session = _session(agent, session_id)
    if "next" in request.GET or "prev" in request.GET:
        return _session_jump(request, session)
    context = _around(request, agent, session)
    context |= page.build_transcript_context(session, PlaceForm(request.GET), context["outline"])
    context["kept"] = request.GET
    return render_page(request, "ledger/session_detail.html", context, partial="transcript_part")


@require_safe
@agent_view
@needs("viewer")
def session_turns(request, agent, session_id):
    """The turns of one session as a table."""
    session = _session(agent, session_id)
    context = _around(request, agent, session) | page.build_turns_context(
        session, **TableForm(request.GET).read_values()
    )
    return render_page(request, "ledger/session_turns.html", context)


@require_safe
@agent_view
@needs("viewer")
def session_branches(request, agent, session_id):
    """The branches of one session that were left."""
    session = _session(agent, session_id)
    context = _around(request, agent, session) | page.build_branches_context(session)
    return render_page(request, "ledger/session_branches.html", context)


@require_safe
@agent_view
@needs("viewer")
def session_steps(request, agent, session_id):
    """How the runs of one session went, step by step."""
    session = _session(agent, session_id)
    context = _around(request, agent, session) | page.build_steps_context(
        session, **TableForm(request.GET).read_cursors()
    )
    return render_page(request, "ledger/session_steps.html", context)


@require_safe
@agent_view
@needs("viewer")
def session_savings(request, agent, session_id):
    """What keeping the big outputs of one session off the prompt would save."""
    session = _session(agent, session_id)
    context = _around(request, agent, session) | page.build_savings_context(
        session, **TableForm(request.GET).read_cursors()
    )
    return render_page(request, "ledger/session_savings.html", context)


@require_safe
@agent_view
@needs("viewer")
def session_live(request, agent, session_id):
    """What an open page does not show yet: 204 for nothing, 286 when nothing more will come."""
    form = LiveForm(request.GET)
    asked = form.read_state()
    if live_update.compare_session(agent.db, session_id, asked) == "same":
        return HttpResponse(status=204)
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    news = live_update.read_update(session, asked) if session else live_update.build_gone_update()
    here = session.get_absolute_url() if session else ""
    context = {"session": session, "here": here, "news": news, "kept": form.build_place_query()}
    context["may_label"] = request.user.has_role("labeller")
    response = render(request, "ledger/session_live.html", context)
    return stop_polling(response) if news.is_over else response


def _session(agent, session_id):
    known = (
        Session.objects.using(agent.db).select_related("prompt_report").annotate(has_steps=steps.has_steps(agent.db))
    )
    return get_object_or_404(known, id=session_id)


def _around(request, agent, session):
    """What is around the content of each page of a session."""
    may_label = request.user.has_role("labeller")
    return {
        "agent": agent,
        "may_label": may_label,
        "back": read_return_address(request),
        **page.build_session_context(session),
    }


def _session_jump(request, session):
    """To the next record of a kind; without one, back to where it was looked for, with a notice."""
    kind, backwards, seq, branch = JumpForm(request.GET).read_jump()
    way = branch_records.find_branch_records(session, branch) or branch_records.BranchRecords(session)
    record_id = jumps.find_target(way, kind, seq, backwards=backwards)
    if record_id is None:
        messages.info(request, jumps.NO_TARGET_NOTICES[kind][backwards])
        return redirect(jumps.build_address(way, seq=seq, backwards=backwards))
    return redirect(jumps.build_address(way, record_id=record_id))


@require_safe
@agent_view
@needs("viewer")
def record_detail(request, agent, session_id, record_id):
    """One record whole, in pieces."""
    identity = get_object_or_404(
        TranscriptEventIdentity.objects.using(agent.db).select_related("session"),
        session_id=session_id,
        event_id=record_id,
    )
    event = get_object_or_404(TranscriptEvent.objects.using(agent.db), session_id=session_id, seq=identity.seq)
    asked = PieceForm(request.GET).read_place()
    context = {"agent": agent, "session": identity.session, "identity": identity, "event": event}
    context |= pieces.build_record_context(agent.agent_id, event, **asked)
    return render_page(request, "ledger/record_detail.html", context, partial="piece")


@require_safe
@agent_view
@needs("viewer")
def step_detail(request, agent, session_id, step_id):
    """One step of a session's runs with all that was kept of it."""
    step = get_object_or_404(TrajectoryEvent.objects.using(agent.db), session_id=session_id, id=step_id)
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    context = {
        "agent": agent,
        "session": session,
        "step": step,
        "told": steps.describe_step(step),
        "whole": steps.format_facts(step),
    }
    return render_page(request, "ledger/step_detail.html", context)
