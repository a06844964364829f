"""Draw decisions at random for review."""

from django import forms
from django.contrib import messages
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from agents.decorators import agent_view
from gate.statistics.statistics_query import build_query
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField
from openclaw_web.pages.html import read_next_address, redirect_after_post, redirect_to, refuse_post
from openclaw_web.pages.roles import needs

from ..review.queues import Queue
from . import draws


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
        if not self.is_valid():
            raise Refused(_("Nothing can be drawn: the page is outdated. Reload it."))
        fields = self.cleaned_data
        return {
            "period": build_query(db, by="day", since=fields["from"], until=fields["to"]).period,
            "draw_id": fields["draw"],
            "model": fields["model"],
            "prompt": fields["prompt"],
        }


@require_POST
@agent_view
@needs("labeller")
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
