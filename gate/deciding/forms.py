"""What people type about a run of the gate, as values."""

from datetime import UTC, datetime, time, timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.runners.choice import NoSuchSession
from openclaw_web.errors import Refused

from .choosing import Asked

MOST_TURNS = 10_000  # in one run that is started here
USUAL_TURNS = 100


class RunForm(forms.Form):
    """Which turns to judge."""

    session = forms.CharField(
        label=_("Session"), required=False, max_length=500, help_text=_("ID or key. Empty = all sessions.")
    )
    since = forms.DateField(label=_("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    limit = forms.IntegerField(
        label=_("Maximum turns"),
        min_value=1,
        max_value=MOST_TURNS,
        initial=USUAL_TURNS,
        help_text=_("Newest first."),
    )
    is_again = forms.BooleanField(
        label=_("Judge again"),
        required=False,
        help_text=_("Turns already judged by this model and prompt are skipped."),
    )

    @property
    def asked(self) -> Asked:
        """As a plan and a run are asked for; days end at midnight UTC."""
        found = self.cleaned_data
        return Asked(
            session=found["session"] or None,
            since=_start(found["since"]),
            until=_start(found["until"] + timedelta(days=1)) if found["until"] else None,
            limit=found["limit"],
            is_again=found["is_again"],
        )

    def refuse(self, refused: Refused) -> None:
        """Say beside the field that is meant why nothing was planned."""
        self.add_error("session" if isinstance(refused, NoSuchSession) else None, refused.sentence)


def _start(day):
    return int(datetime.combine(day, time.min, UTC).timestamp() * 1000) if day else None
