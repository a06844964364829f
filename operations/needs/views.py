"""What needs doing: the first page of System, and the number beside its entry in the rail."""

from django.shortcuts import render
from django.views.decorators.http import require_safe

from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import render_page

from . import services


@require_safe
@needs("operator")
def system(request):
    """What needs doing, each with the page where it is done."""
    return render_page(request, "operations/system.html", {"needs": services.found()})


@require_safe
@needs("operator")
def system_needs(request):
    """How many things that are, for the rail; nothing when there is nothing to do."""
    found = services.found()
    context = {"count": len(found), "words": services.in_words(found)}
    return render(request, "operations/system_needs.html", context)
