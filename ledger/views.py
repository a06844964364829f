"""Sessions of an agent, one session to read, one record whole."""

from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from agents.decorators import agent_view, needs
from openclaw_web.html import render_page

from . import about, listing, pieces, reading
from .forms import PieceForm, PlaceForm, SessionFilters
from .models import Session, TranscriptEvent, TranscriptEventIdentity


@require_safe
@agent_view
@needs("viewer")
def session_list(request, agent):
    """The sessions that fit the filters, the last active first."""
    filters = SessionFilters(request.GET, db=agent.db)
    sessions = filters.narrow(Session.objects.using(agent.db).for_reading())
    context = {
        "agent": agent,
        "filters": filters,
        "amount": listing.amount(sessions),
        "counted_up_to": listing.COUNTED_UP_TO,
        "window": listing.WINDOW,
        "sessions": listing.page(sessions, words=filters.words, after=request.GET.get("after")),
    }
    return render_page(request, "ledger/session_list.html", context)


@require_safe
@agent_view
@needs("viewer")
def session_detail(request, agent, session_id):
    """One session, turn by turn."""
    session = get_object_or_404(Session.objects.using(agent.db).select_related("prompt_report"), id=session_id)
    form = PlaceForm(request.GET)
    page = reading.page(session, reading.find(session, **form.asked()))
    context = {
        "agent": agent,
        "session": session,
        "about": about.session(session),
        "form": form,
        "page": page,
        "may_label": request.user.has_role("labeller"),
    }
    return render_page(request, "ledger/session_detail.html", context, partial="transcript-part")


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
    context |= pieces.of_record(event, **asked)
    return render_page(request, "ledger/record_detail.html", context, partial="piece")
