"""What people type about runs and proposals of our guardian, as values."""

from datetime import UTC, datetime, time, timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.runners.choice import NoSuchSession
from gate.deciding.forms import MOST_TURNS, USUAL_TURNS
from openclaw_web.errors import Refused

from ..files import LONGEST_FACT, MEMORY_FILES
from . import approving
from .facts import Asked


class RunForm(forms.Form):
    """Which facts to handle."""

    session = forms.CharField(
        label=_("Session"), required=False, max_length=500, help_text=_("ID or key. Empty = all sessions.")
    )
    since = forms.DateField(label=_("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    limit = forms.IntegerField(
        label=_("Maximum facts"),
        min_value=1,
        max_value=MOST_TURNS,
        initial=USUAL_TURNS,
        help_text=_("The newest facts come first."),
    )

    @property
    def asked(self) -> Asked:
        """As a plan and a run are asked for; days end at midnight UTC."""
        found = self.cleaned_data
        until = found["until"]
        return Asked(
            session=found["session"] or None,
            since=_start(found["since"]),
            until=_start(until + timedelta(days=1)) if until else None,
            limit=found["limit"],
        )

    def refuse(self, refused: Refused) -> None:
        """Say beside the field that is meant why nothing was planned."""
        self.add_error("session" if isinstance(refused, NoSuchSession) else None, refused.sentence)


class RetryForm(forms.Form):
    """What a write should have been asked for."""

    fact = forms.CharField(label=_("Fact"), max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": 3}))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])

    def clean_fact(self):
        """With the line ends that everybody else's facts have: browsers send two characters."""
        return self.cleaned_data["fact"].replace("\r\n", "\n")


class DeclineForm(forms.Form):
    """Why a proposal is left unwritten."""

    reason = forms.CharField(
        label=_("Reason for declining"),
        max_length=approving.LONGEST_REASON,
        error_messages={"required": approving.NO_REASON},
    )


def _start(day):
    return int(datetime.combine(day, time.min, UTC).timestamp() * 1000) if day else None
