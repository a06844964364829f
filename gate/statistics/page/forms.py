"""The form for the address of the page of statistics."""

from dataclasses import replace

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.lists.filters import DayField

from ..figures import GROUPINGS
from ..statistics_query import StatisticsQuery, build_query

MOST_DAYS = 35  # the most days that are shown by day when the address has no `by`


class StatisticsForm(forms.Form):
    """The grouping, the days, and the model, prompt version or session."""

    by = forms.ChoiceField(required=False, choices=[(name, name) for name in GROUPINGS])
    model = forms.CharField(required=False, max_length=500, strip=False)
    prompt = forms.CharField(required=False, max_length=500, strip=False)
    session = forms.CharField(required=False, max_length=500, strip=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": DayField(gettext_lazy("From day (UTC)")), "to": DayField(gettext_lazy("To day (UTC)"))}

    def build_query(self, db: str) -> StatisticsQuery:
        """Return the query. Raises Refused for one that cannot be answered."""
        if not self.is_valid():
            days = self.errors.get("from") or self.errors.get("to")
            raise Refused(days[0] if days else _("This address is not valid for statistics. Remove its filters."))
        values = self.cleaned_data
        filters = {name: values[name] for name in ("model", "prompt", "session")}
        if values["by"]:
            return build_query(db, by=values["by"], since=values["from"], until=values["to"], **filters)
        default_query = build_query(db, by="day", since=values["from"], until=values["to"], **filters)
        return default_query if default_query.period.days <= MOST_DAYS else replace(default_query, by="week")
