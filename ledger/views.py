"""One session to read, one record whole, one step of a run."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from agents.decorators import agent_view, needs
from openclaw_web.html import render_page, stop_polling

from . import jumps, live, pieces, reach, session_page, steps
from .forms import PieceForm
from .models import Session, TrajectoryEvent, TranscriptEvent, TranscriptEventIdentity
from .session_forms import JumpForm, LiveForm, PlaceForm, ViewForm


@require_safe
@agent_view
@needs("viewer")
def session_detail(request, agent, session_id):
    """One session, turn by turn; `view=` a table of it, `next=` a jump, `live=` a poll."""
    if "live" in request.GET:
        return _session_news(request, agent, session_id)
    known = Session.objects.using(agent.db).select_related("prompt_report").annotate(has_steps=steps.exist(agent.db))
    session = get_object_or_404(known, id=session_id)
    if "next" in request.GET or "prev" in request.GET:
        return _session_jump(request, session)
    context = {"agent": agent, "may_label": request.user.has_role("labeller"), **session_page.around(session)}
    if "view" in request.GET:
        asked = ViewForm(request.GET).asked()
        context |= session_page.table(session, asked)
        return render_page(request, f"ledger/session_{asked['view'] or 'turns'}.html", context)
    form = PlaceForm(request.GET)
    context |= session_page.transcript(session, form, context["outline"])
    return render_page(request, "ledger/session_detail.html", context, partial="transcript-part")


def _session_jump(request, session):
    """To the next record of a kind; without one, back to where it was looked for, with a notice."""
    kind, backwards, seq, branch = JumpForm(request.GET).asked()
    way = reach.of_branch(session, branch) or reach.Reach(session)
    record_id = jumps.target(way, kind, seq, backwards=backwards)
    if record_id is None:
        messages.info(request, jumps.NONE_LEFT[kind][backwards])
        return redirect(jumps.address(way, seq=seq, backwards=backwards))
    return redirect(jumps.address(way, record_id=record_id))


def _session_news(request, agent, session_id):
    """What an open page does not show yet: 204 for nothing, 286 when nothing more will come."""
    asked = LiveForm(request.GET).asked()
    state = live.changed(agent.db, session_id, asked)
    if state == "same":
        return HttpResponse(status=204)
    context = {"agent": agent, "may_label": request.user.has_role("labeller")}
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    if session is None:
        return stop_polling(render(request, "ledger/_live.html", {**context, "news": live.gone()}))
    news = live.news(session, asked)
    response = render(request, "ledger/_live.html", {**context, "session": session, "news": news, "is_poll": True})
    return stop_polling(response) if news.is_over else response


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
    asked = PieceForm(request.GET).asked()
    context = {"agent": agent, "session": identity.session, "identity": identity, "event": event}
    context |= pieces.of_record(agent.agent_id, event, **asked)
    return render_page(request, "ledger/record_detail.html", context, partial="piece")


@require_safe
@agent_view
@needs("viewer")
def step_detail(request, agent, session_id, step_id):
    """One step of a session's runs with all that was kept of it."""
    step = get_object_or_404(TrajectoryEvent.objects.using(agent.db), session_id=session_id, id=step_id)
    session = Session.objects.using(agent.db).filter(id=session_id).first()
    context = {"agent": agent, "session": session, "step": step, "told": steps.told(step), "whole": steps.whole(step)}
    return render_page(request, "ledger/step_detail.html", context)
