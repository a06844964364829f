"""What comes in through the address of the page of statistics."""

from dataclasses import replace

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField

from ..figures import GROUPINGS
from ..statistics_query import StatisticsQuery, build_query

MOST_DAYS = 35  # that are told by day where the address does not say


class StatisticsForm(forms.Form):
    """By what, of which days, and of which model, prompt version or session."""

    by = forms.ChoiceField(required=False, choices=[(name, name) for name in GROUPINGS])
    model = forms.CharField(required=False, max_length=500, strip=False)
    prompt = forms.CharField(required=False, max_length=500, strip=False)
    session = forms.CharField(required=False, max_length=500, strip=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": DayField(gettext_lazy("From day (UTC)")), "to": DayField(gettext_lazy("To day (UTC)"))}

    def build_query(self, db: str) -> StatisticsQuery:
        """What is asked for. Raises Refused for what cannot be told."""
        if not self.is_valid():
            days = self.errors.get("from") or self.errors.get("to")
            raise Refused(days[0] if days else _("This address is not valid for statistics. Remove its filters."))
        said = self.cleaned_data
        chosen = {name: said[name] for name in ("model", "prompt", "session")}
        if said["by"]:
            return build_query(db, by=said["by"], since=said["from"], until=said["to"], **chosen)
        usual = build_query(db, by="day", since=said["from"], until=said["to"], **chosen)
        return usual if usual.period.days <= MOST_DAYS else replace(usual, by="week")
