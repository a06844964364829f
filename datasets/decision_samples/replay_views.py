"""Verdicts on a replay's decisions: a fragment of its page, and disagreements for review."""

from django.contrib import messages
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from gate.models import GateReplay
from openclaw_web.pages.html import redirect_after_post, render_page
from openclaw_web.pages.roles import needs

from ..kinds.review_requests import describe_problems
from . import replays


@require_safe
@agent_view
@needs("viewer")
def replay_verdicts(request, agent, replay_id):
    """Precision and recall of both gates of a replay.

    It is a page of its own for browsers without scripts.
    """
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    context = {
        "agent": agent,
        "replay": replay,
        "comparison": replays.compare_with_verdicts(agent, replay),
        "may_label": request.user.has_role("labeller"),
        "most": replays.BATCH,
    }
    return render_page(request, "datasets/replay_verdicts.html", context, partial="replay_verdicts")


@require_POST
@agent_view
@needs("labeller")
def replay_queue(request, agent, replay_id):
    """Put the disagreements of a replay into the review queue."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    queued = replays.queue_disagreements(agent, replay, by=request.user.username)
    for problem in describe_problems(queued):
        messages.warning(request, problem)
    return redirect_after_post(request, queued.sentence, to=replay)
