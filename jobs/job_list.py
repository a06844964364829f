"""The list of jobs: its filters, query, columns and texts."""

from dataclasses import replace

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns
from openclaw_web.pages import states

from . import kinds as job_kinds
from .models import JobRun

SEEKS = ("started_by", "kind", "state")  # columns whose index continues with the order
ALL_JOBS = Words(
    counted=ngettext_lazy("%(shown)s job", "%(shown)s jobs", "count"),
    uncounted=_("Jobs"),
    none=_("No jobs yet"),
    how=_("Imports, exports and other background work are listed here with their progress, log and result."),
    icon="queue-list",
)
OWN_JOBS = replace(
    ALL_JOBS,
    counted=ngettext_lazy("%(shown)s job you started", "%(shown)s jobs you started", "count"),
    uncounted=_("Jobs you started"),
)


class JobFilters(DayFilters):
    """The filters of the list of jobs."""

    ORDERS, DEFAULT = {"queued": ("created_at", "id")}, "-queued"
    DESCRIPTIONS = {"kind": "collect, export, …", "by": "user name"}
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=job_kinds.build_choices)
    state = forms.ChoiceField(label=_("Status"), required=False, choices=states.choices(JobRun.State))
    by = forms.CharField(label=_("Started by"), required=False, max_length=150)


def fits(user, *, sort=JobFilters.DEFAULT, **criteria) -> Listing:
    """Return the runs that fit the filters and that a person may see.

    Below operator, a person sees the runs that they started. Long columns are left out.
    """
    own_terms = [] if user.has_role("operator") else [Term("started_by", "exact", user.username)]
    filter_terms = build_terms(criteria, {"kind": "kind", "state": "state", "by": "started_by"}, moment="created_at")
    rows = JobRun.objects.defer("log", "result_json", "params_json")
    return build_listing(
        rows, [*own_terms, *filter_terms], order=get_order_columns(JobFilters.ORDERS, sort), seeks=SEEKS
    )


JOBS = List(
    on="jobs",
    words=ALL_JOBS,
    filters=JobFilters,
    fits=fits,
    columns=(
        ("", _("Job"), False),
        ("", _("Status"), False, PLAIN),
        ("", _("Progress"), True, NAMED),
        ("", _("Last message"), False),
        ("", _("Started by"), False),
        ("queued", _("Queued at"), False, PLAIN),
        ("", _("Duration"), True),
    ),
    table=JobRun,
    fields=file_columns(JobRun),
    prepare=lambda page, _filters, _whose: {"rows": page, "label_of": job_kinds.get_label},
)
