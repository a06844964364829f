"""The page of what keeping big outputs off the prompt would save, of an agent and of one session."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from artifacts import artifact_names
from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from ..lists import facets
from ..models import Session
from . import prompts, sums

DAYS = (7, 35, 90, 365)
DEFAULT_DAYS = 35


class SavingsFilters(forms.Form):
    """Which outputs to add up: the last days, one tool, one channel."""

    days = forms.TypedChoiceField(required=False, choices=[(n, n) for n in DAYS], coerce=int, empty_value=DEFAULT_DAYS)
    tool = forms.CharField(required=False, max_length=256, strip=False)
    channel = forms.CharField(required=False, max_length=500, strip=False)

    def scope(self, db: str) -> sums.Scope:
        """What is asked for. Raises Refused for what cannot be."""
        if not self.is_valid():
            raise Refused(_("This address is not valid for savings. Remove the filters from the address."))
        said = self.cleaned_data
        return sums.Scope(db, sums.find_first_day(db, said["days"]), said["tool"], said["channel"])


@require_safe
@agent_view
@needs("viewer")
def savings(request, agent):
    """What an agent's outputs add up to in some days, which are the largest, and how big its prompts were."""
    filters = SavingsFilters(request.GET)
    scope = filters.scope(agent.db)
    context = {
        "agent": agent,
        "filters": filters.cleaned_data,
        "days": DAYS,
        "since": scope.since,
        "channels": facets.read_values(agent.db, ["channel_id"])["channel_id"],
        **_shown(agent.db, sums.read_agent_savings(scope)),
    }
    by_day = prompts.read_agent_prompts(scope)
    context |= {"prompts": by_day, "chart": prompts.build_agent_chart(by_day)}
    return render_page(request, "ledger/savings.html", context)


def build_session_savings_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """What the page of a session's savings shows; `after` and `before` are cursors of its turns."""
    by_turn = prompts.read_session_prompts(session, after=after, before=before)
    return {
        **_shown(session._state.db, sums.read_session_savings(session)),
        "prompts": by_turn,
        "chart": prompts.build_session_chart(by_turn, session.get_absolute_url()),
    }


def _shown(db, found):
    uses = [
        {name: getattr(use, name) for name in artifact_names.READ_COLUMNS} for use in (*found.largest, *found.repeated)
    ]
    return {
        "savings": found,
        "names": artifact_names.build_names(db, uses),
        "chars_per_token": sums.CHARS_PER_TOKEN,
        "looked_at": sums.LOOKED_AT,
    }
