"""The pages of savings by big outputs, of an agent and of one session."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from artifacts import artifact_names
from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page

from ..lists import facets
from ..models import Session
from . import prompts, sums

DAYS = (7, 35, 90, 365)
DEFAULT_DAYS = 35


class SavingsFilters(forms.Form):
    """Filters for the outputs: the last days, one tool, one channel."""

    days = forms.TypedChoiceField(required=False, choices=[(n, n) for n in DAYS], coerce=int, empty_value=DEFAULT_DAYS)
    tool = forms.CharField(required=False, max_length=256, strip=False)
    channel = forms.CharField(required=False, max_length=500, strip=False)

    def scope(self, db: str) -> sums.Scope:
        """The scope of the filters. Raises Refused for an invalid one."""
        if not self.is_valid():
            raise Refused(_("This address is not valid for savings. Remove the filters from the address."))
        values = self.cleaned_data
        return sums.Scope(db, sums.find_first_day(db, values["days"]), values["tool"], values["channel"])


@require_safe
@agent_view_for("viewer")
def savings(request, agent):
    """Sums of an agent's outputs in some days, the largest ones, and its prompts' sizes."""
    filters = SavingsFilters(request.GET)
    scope = filters.scope(agent.db)
    context = {
        "agent": agent,
        "filters": filters.cleaned_data,
        "days": DAYS,
        "since": scope.since,
        "channels": facets.read_values(agent.db, ["channel_id"])["channel_id"],
        **_build_context(agent.db, sums.read_agent_savings(scope)),
    }
    by_day = prompts.read_agent_prompts(scope)
    context |= {"prompts": by_day, "chart": prompts.build_agent_chart(by_day)}
    return render_page(request, "ledger/savings.html", context)


def build_session_savings_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """The template context of a session's savings; the cursors are those of its turns."""
    by_turn = prompts.read_session_prompts(session, after=after, before=before)
    return {
        **_build_context(session._state.db, sums.read_session_savings(session)),
        "prompts": by_turn,
        "chart": prompts.build_session_chart(by_turn, session.get_absolute_url()),
    }


def _build_context(db, result):
    uses = [
        {name: getattr(use, name) for name in artifact_names.READ_COLUMNS}
        for use in (*result.largest, *result.repeated)
    ]
    return {
        "savings": result,
        "names": artifact_names.build_names(db, uses),
        "chars_per_token": sums.CHARS_PER_TOKEN,
        "looked_at": sums.LOOKED_AT,
    }
