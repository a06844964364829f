"""The filters of the list of jobs, from its address."""

from django import forms
from django.utils.translation import gettext_lazy

from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Term

from . import kinds as job_kinds
from .models import JobRun


class JobFilters(DayFilters):
    """The filters of the list of jobs."""

    ORDERS, DEFAULT = {"queued": ("created_at", "id")}, "-queued"
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), required=False, choices=job_kinds.labels)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=JobRun.State.choices)
    by = forms.CharField(label=gettext_lazy("Started by"), required=False, max_length=150)

    def terms(self) -> list[Term]:
        """What the runs must be, for `jobs.listing`."""
        return self.column_terms({"kind": "kind", "state": "state", "by": "started_by"}, "created_at")
