"""The form for the address of the page of statistics."""

from datetime import date, datetime

from django import forms
from django.utils.translation import gettext_lazy as _

from gate.statistics.figures import Period
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField

from .figures import resolve_period


class StatisticsForm(forms.Form):
    """The first and the last day."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": DayField(_("From day (UTC)")), "to": DayField(_("To day (UTC)"))}

    def read_period(self) -> Period:
        """The chosen days, or those of the default. Raises Refused for days that cannot be."""
        if not self.is_valid():
            raise Refused(next(iter(self.errors.values()))[0])
        return resolve_period(_to_day(self.cleaned_data["from"]), _to_day(self.cleaned_data["to"]))


def _to_day(value: date | datetime | None) -> date | None:
    return value.date() if isinstance(value, datetime) else value
