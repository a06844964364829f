"""The filters of the audit log, from its address."""

from django import forms
from django.utils.translation import gettext_lazy

from openclaw_web.lists.filters import DayFilters

from . import entries


class AuditFilters(DayFilters):
    """The filters of the audit log."""

    ORDERS, DEFAULT = entries.ORDERS, entries.NEWEST
    RARE = ("agent", "object_id")
    actor = forms.CharField(label=gettext_lazy("Who"), required=False, max_length=150)
    # By their names: several actions have the same words in a row, which says to what.
    action = forms.ChoiceField(
        label=gettext_lazy("What"), required=False, choices=[(name, name) for name in entries.action_names()]
    )
    object_type = forms.ChoiceField(label=gettext_lazy("To what"), required=False, choices=entries.OBJECTS.items())
    agent = forms.CharField(label=gettext_lazy("Agent"), required=False, max_length=56)
    object_id = forms.CharField(label=gettext_lazy("Its id"), required=False, max_length=600)

    def listing(self, rows):
        """Those of `rows` that fit."""
        asked = {name: value for name, value in self.chosen.items() if name in entries.FILTERS}
        return entries.listing(rows, sort=self.sorting, **asked, **self.moments)
