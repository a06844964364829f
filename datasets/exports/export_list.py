"""The list of exports: its filters, query, columns and texts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.pages import states

from ..models import DatasetExport
from . import words

COLUMNS = {"export_format": "export_format", "task": "task", "state": "state", "by": "exported_by"}
WORKING = (DatasetExport.State.WAITING, DatasetExport.State.RUNNING)


class ExportFilters(DayFilters):
    """The filters of the list of exports."""

    ORDERS, DEFAULT = {"when": ("exported_at", "id")}, "-when"
    DESCRIPTIONS = {"by": "user name"}
    export_format = forms.ChoiceField(label=_("Format"), required=False, choices=words.FORMAT_WORDS.items())
    task = forms.ChoiceField(label=_("Task"), required=False, choices=words.TASK_WORDS.items())
    state = forms.ChoiceField(label=_("Status"), required=False, choices=states.choices(DatasetExport.State))
    by = forms.CharField(label=_("By"), required=False, max_length=150)


def fits(_user, *, sort=ExportFilters.DEFAULT, **criteria) -> Listing:
    """The exports that match the filters, without their long columns."""
    rows = DatasetExport.objects.defer("manifest_json", "reasons_json", "places_json", "difference_json")
    conditions = build_terms(criteria, COLUMNS, moment="exported_at")
    return build_listing(rows, conditions, order=get_order_columns(ExportFilters.ORDERS, sort))


def resolve_state(export, is_working):
    """The state to show; an export whose job died is failed, whatever its row says."""
    is_dead = export.state in WORKING and not is_working
    return DatasetExport.State.FAILED if is_dead else DatasetExport.State(export.state)


def _with_states(page, _filters, _user):
    return {"rows": [(export, resolve_state(export, export.state in WORKING)) for export in page]}


EXPORTS = List(
    on="exports",
    words=Words(
        counted=ngettext_lazy("%(shown)s export", "%(shown)s exports", "count"),
        uncounted=_("Exports"),
        none=_("No exports yet"),
        how=_("An export writes approved samples to training files. Approve some samples first."),
        icon="arrow-down-tray",
    ),
    filters=ExportFilters,
    fits=fits,
    columns=(
        ("", _("Name"), False),
        ("", _("Format"), False),
        ("", _("Task"), False),
        ("", _("Status"), False, PLAIN),
        ("", _("Rows"), True, NAMED),
        ("", _("Size"), True),
        ("", _("By"), False),
        ("when", _("When"), True, PLAIN),
    ),
    table=DatasetExport,
    fields=file_columns(DatasetExport, "id", "export_name", "export_format", "task", "state"),
    prepare=_with_states,
)
