"""The filters of lists that span agents, from their addresses."""

from django import forms
from django.utils.translation import gettext_lazy

from datasets.exporting.words import FORMAT_WORDS, TASK_WORDS
from datasets.exporting.words import STATE_WORDS as EXPORT_STATES
from ledger.models import RejectedRecord
from openclaw_web.lists import DayFilters, ListFilters
from openclaw_web.paging import Listing, Term, narrowed

from . import audit_entries, job_kinds
from .models import JobRun
from .rejected import REASONS


class JobFilters(DayFilters):
    """The filters of the list of jobs."""

    ORDERS, DEFAULT = {"queued": ("created_at", "id")}, "-queued"
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), required=False, choices=job_kinds.labels)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=JobRun.State.choices)
    by = forms.CharField(label=gettext_lazy("Started by"), required=False, max_length=150)

    def terms(self) -> list[Term]:
        """What the runs must be, for `jobs.listing`."""
        return _terms(self, {"kind": "kind", "state": "state", "by": "started_by"}, "created_at")


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
        return narrowed(rows, _terms(self, columns, "exported_at"), order=self.order)


class RejectedFilters(ListFilters):
    """The filters of the list of rejected records of one agent."""

    ORDERS, DEFAULT = {"found": ("id",)}, "-found"
    PLACE = ("agent",)
    agent = forms.CharField(label=gettext_lazy("Agent"), required=False, max_length=56)
    reason = forms.ChoiceField(label=gettext_lazy("Reason"), required=False, choices=REASONS.items())
    file = forms.CharField(label=gettext_lazy("In the file's name"), required=False, max_length=500)
    session = forms.CharField(label=gettext_lazy("Session"), required=False, max_length=500)

    def listing(self, db: str) -> Listing:
        """The rejected records of an agent's file that fit."""
        asked = self.chosen
        terms = [Term("reason", "exact", asked["reason"])] if "reason" in asked else []
        terms += [Term("session_id", "exact", asked["session"])] if "session" in asked else []
        terms += [Term("file", "icontains", asked["file"])] if "file" in asked else []
        return narrowed(RejectedRecord.objects.using(db).all(), terms, order=self.order)


class AuditFilters(DayFilters):
    """The filters of the audit log."""

    ORDERS, DEFAULT = audit_entries.ORDERS, audit_entries.NEWEST
    RARE = ("agent", "object_id")
    actor = forms.CharField(label=gettext_lazy("Who"), required=False, max_length=150)
    # By their names: several actions have the same words in a row, which says to what.
    action = forms.ChoiceField(
        label=gettext_lazy("What"), required=False, choices=[(name, name) for name in audit_entries.action_names()]
    )
    object_type = forms.ChoiceField(
        label=gettext_lazy("To what"), required=False, choices=audit_entries.OBJECTS.items()
    )
    agent = forms.CharField(label=gettext_lazy("Agent"), required=False, max_length=56)
    object_id = forms.CharField(label=gettext_lazy("Its id"), required=False, max_length=600)

    def listing(self, rows):
        """Those of `rows` that fit."""
        asked = {name: value for name, value in self.chosen.items() if name in audit_entries.FILTERS}
        return audit_entries.listing(rows, sort=self.sorting, **asked, **self.moments)


def _terms(filters, columns, moment):
    terms = [Term(columns[name], "exact", value) for name, value in filters.chosen.items() if name in columns]
    ends = {"gte": filters.moments["since"], "lt": filters.moments["until"]}
    return terms + [Term(moment, lookup, value) for lookup, value in ends.items() if value is not None]
