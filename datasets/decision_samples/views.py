"""Draw decisions at random for review."""

from django import forms
from django.contrib import messages
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from gate.models import GateReplay
from gate.statistics.statistics_query import build_query
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField
from openclaw_web.pages.html import (
    read_form,
    read_next_address,
    redirect_after_post,
    redirect_to,
    refuse_post,
    render_page,
)

from ..kinds.review_requests import describe_problems
from ..review.queues import Queue
from . import draws, replays


class DrawForm(forms.Form):
    """The decisions to draw from: days, a model, a prompt version; and the draw's id."""

    draw = forms.RegexField(r"^[0-9A-Z]{26}$")
    model = forms.CharField(required=False, max_length=500, strip=False)
    prompt = forms.CharField(required=False, max_length=500, strip=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": DayField(""), "to": DayField("")}

    def read_choice(self, db):
        """The arguments of `draws.draw_samples`. Raises Refused for values that no page sends."""
        fields = read_form(self, _("Nothing can be drawn: the page is outdated. Reload it."))
        return {
            "period": build_query(db, by="day", since=fields["from"], until=fields["to"]).period,
            "draw_id": fields["draw"],
            "model": fields["model"],
            "prompt": fields["prompt"],
        }


@require_POST
@agent_view_for("labeller")
def decisions_draw(request, agent):
    """Draw up to 20 decisions that nobody judged, and open their samples for review."""
    back = read_next_address(request, reverse("gate:statistics", args=[agent.agent_id]))
    try:
        chosen = DrawForm(request.POST).read_choice(agent.db)
        review_draw = draws.draw_samples(agent, by=request.user.username, **chosen)
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    count = draws.count_samples(review_draw)
    if not count:
        messages.warning(request, _("No decision was drawn: none of them can become a sample."))
        return redirect_to(request, back)
    sentence = ngettext("%(count)s decision was drawn at random.", "%(count)s decisions were drawn at random.", count)
    return redirect_after_post(request, sentence % {"count": count}, to=Queue(draw=review_draw.id).address())


@require_safe
@agent_view_for("viewer")
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
@agent_view_for("labeller")
def replay_queue(request, agent, replay_id):
    """Put the disagreements of a replay into the review queue."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    queued = replays.queue_disagreements(agent, replay, by=request.user.username)
    for problem in describe_problems(queued):
        messages.warning(request, problem)
    return redirect_after_post(request, queued.sentence, to=replay)
