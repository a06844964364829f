"""Pages of problems, the number in the rail, and the acts of people."""

from django.http import Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.html import read_next_address, redirect_after_post, refuse_post
from openclaw_web.pages.roles import needs

from . import overview, services
from .models import Problem
from .problem_list import PROBLEMS


@require_safe
@needs("operator")
@shows(PROBLEMS)
def system(request):
    """Show the problems that match the filters, the worst first.

    At first these are the open ones; with `format` they are a file.
    """
    stale = overview.describe_stale()
    return render_list(
        request, "problems/system.html", PROBLEMS, stale=stale, calm="" if stale else overview.describe_calm()
    )


@require_safe
@needs("operator")
def system_needs(request):
    """Show how many open problems are counted, for the rail; empty without any."""
    count = overview.count_open(request.user)
    is_more = count > overview.COUNTED_UP_TO
    number = f"{overview.COUNTED_UP_TO}+" if is_more else str(count)
    words = ngettext("%(count)s problem", "%(count)s problems", count) % {"count": number}
    return render(request, "problems/system_needs.html", {"count": number if count else "", "words": words})


@require_POST
@needs("operator")
def problem_mute(request, problem_id):
    """Mute a problem, with a reason, and until a day if one is named."""
    answers = {name: request.POST.get(name, "") for name in ("reason", "until")}
    return _apply(request, _("The problem is muted."), lambda by: services.mute(problem_id, by=by, **answers))


@require_POST
@needs("operator")
def problem_unmute(request, problem_id):
    """Show a muted problem again."""
    return _apply(request, _("The problem is open again."), lambda by: services.unmute(problem_id, by=by))


@require_POST
@needs("operator")
def problem_close(request, problem_id):
    """Close a problem."""
    sentence = _("The problem is closed. It opens again when it gets worse, or when it was solved and comes back.")
    return _apply(request, sentence, lambda by: services.close(problem_id, by=by))


@require_POST
@needs("operator")
def problem_seen(request, problem_id):
    """Mark a problem as seen."""
    return _apply(request, _("The problem is marked as seen."), lambda by: services.mark_seen(problem_id, by=by))


def _apply(request, sentence, act):
    to = read_next_address(request, reverse("operations:system"))
    try:
        act(request.user.username)
    except Problem.DoesNotExist as exc:
        raise Http404 from exc
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    return redirect_after_post(request, sentence, to=to)
