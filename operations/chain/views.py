"""The chain of a thing: a ribbon on its page, and a page of its own."""

from django.http import Http404
from django.views.decorators.http import require_http_methods, require_safe

from agents.decorators import agent_view_for
from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import lookup
from .chains import KINDS, OF_AGENT, build_chain

LONGEST = 1_000_000  # characters of a row


@require_safe
@agent_view_for("viewer", of_all=True)
def chain(request, agent, kind, key):
    """The chain of something of an agent, such as a write, or of a sample, verdict, release or row of a file."""
    if kind not in KINDS or (agent is not None) != (kind in OF_AGENT):
        raise Http404
    values = {"kind": kind, "key": key, "agent": agent, "steps": build_chain(kind, key, agent)}
    return render_page(request, "operations/chain.html", values, partial="ribbon")


@require_http_methods(["GET", "HEAD", "POST"])  # an address has no room for a long row
@needs("viewer")
def chain_find(request):
    """Find a row of a file by its text, its SHA-256 or words of it."""
    text, places, is_whole, problem = (request.POST or request.GET).get("row", "")[:LONGEST], [], True, ""
    try:
        places, is_whole = lookup.find_places(text) if text.strip() else ([], True)
    except Refused as refused:
        problem = refused.sentence
    values = {"text": text, "places": places, "is_whole": is_whole, "problem": problem}
    return render_page(request, "operations/chain_find.html", values)
