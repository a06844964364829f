"""Forms for a run, which build the choice of items."""

from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.errors import Refused

from .choice import Choice, NoSuchSession

MAX_LIMIT = 10_000  # items in one run that a page or the API starts
DEFAULT_LIMIT = 100


def limit_field(label: Any, help_text: Any) -> forms.IntegerField:
    """Build the field for the maximum number of items."""
    return forms.IntegerField(label=label, min_value=1, max_value=MAX_LIMIT, initial=DEFAULT_LIMIT, help_text=help_text)


class RunForm(forms.Form):
    """A form for the sessions and times of items to ask about.

    Each runner adds its limit and its own options.
    """

    choice_type: ClassVar[type[Choice]] = Choice

    session = forms.CharField(
        label=_("Session"), required=False, max_length=500, help_text=_("ID or key. Empty = all sessions.")
    )
    since = forms.DateField(label=_("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    @property
    def choice(self) -> Any:
        """Return the choice of a plan or run; days end at midnight UTC."""
        values = self.cleaned_data
        until = values["until"]
        days = {
            "since": _get_day_start(values["since"]),
            "until": _get_day_start(until + timedelta(days=1)) if until else None,
        }
        return self.choice_type(**{**values, **days, "session": values["session"] or None})

    def refuse(self, refusal: Refused) -> None:
        """Add the reason of a refusal to the field that it is about."""
        self.add_error("session" if isinstance(refusal, NoSuchSession) else None, refusal.sentence)


def _get_day_start(day):
    return int(datetime.combine(day, time.min, UTC).timestamp() * 1000) if day else None
