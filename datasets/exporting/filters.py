"""The filters of the list of exports, from its address."""

from django import forms
from django.utils.translation import gettext_lazy

from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import narrowed

from .words import FORMAT_WORDS, TASK_WORDS
from .words import STATE_WORDS as EXPORT_STATES


class ExportFilters(DayFilters):
    """The filters of the list of exports."""

    ORDERS, DEFAULT = {"when": ("exported_at", "id")}, "-when"
    RARE = ("task", "by")
    export_format = forms.ChoiceField(label=gettext_lazy("Format"), required=False, choices=FORMAT_WORDS.items())
    task = forms.ChoiceField(label=gettext_lazy("Task"), required=False, choices=TASK_WORDS.items())
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=EXPORT_STATES.items())
    by = forms.CharField(label=gettext_lazy("By"), required=False, max_length=150)

    def listing(self, rows):
        """Those of `rows` that fit."""
        columns = {"export_format": "export_format", "task": "task", "state": "state", "by": "exported_by"}
        return narrowed(rows, self.column_terms(columns, "exported_at"), order=self.order)
