"""What people type about a run, as the choice that is planned or run."""

from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from .choice import Choice, NoSuchSession

MAX_LIMIT = 10_000  # things in one run that is started here
DEFAULT_LIMIT = 100


def limit_field(label: Any, help_text: Any) -> forms.IntegerField:
    """How many things at most."""
    return forms.IntegerField(label=label, min_value=1, max_value=MAX_LIMIT, initial=DEFAULT_LIMIT, help_text=help_text)


class RunForm(forms.Form):
    """Sessions and times of the things to ask about; a runner adds its limit, and what else it can be told."""

    choice_type: ClassVar[type[Choice]] = Choice

    session = forms.CharField(
        label=_("Session"), required=False, max_length=500, help_text=_("ID or key. Empty = all sessions.")
    )
    since = forms.DateField(label=_("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    @property
    def choice(self) -> Any:
        """As a plan and a run are asked for; days end at midnight UTC."""
        values = self.cleaned_data
        until = values["until"]
        days = {"since": _start(values["since"]), "until": _start(until + timedelta(days=1)) if until else None}
        return self.choice_type(**{**values, **days, "session": values["session"] or None})

    def refuse(self, refused: Refused) -> None:
        """Say beside the field that is meant why nothing was planned."""
        self.add_error("session" if isinstance(refused, NoSuchSession) else None, refused.sentence)


def _start(day):
    return int(datetime.combine(day, time.min, UTC).timestamp() * 1000) if day else None
