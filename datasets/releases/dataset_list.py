"""The list of datasets: its filters, query, columns and texts."""

from django import forms
from django.db.models import Max, Q
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns

from ..models import Dataset, DatasetVersion

COLUMNS = {"name": "name__icontains", "by": "created_by"}


class DatasetFilters(DayFilters):
    """The filters of the list of datasets."""

    ORDERS, DEFAULT = {"made": ("created_at", "id")}, "-made"
    DESCRIPTIONS = {"name": "a part of the name", "by": "user name"}
    name = forms.CharField(label=_("Name"), required=False, max_length=120)
    by = forms.CharField(label=_("By"), required=False, max_length=150)


def fits(_user, *, sort=DatasetFilters.DEFAULT, **criteria) -> Listing:
    """The datasets that match the filters."""
    conditions = build_terms(criteria, COLUMNS, moment="created_at")
    return build_listing(Dataset.objects.all(), conditions, order=get_order_columns(DatasetFilters.ORDERS, sort))


def _with_releases(page, _filters, _user):
    """The rows of a page, each with its latest release or None."""
    released = Q(versions__state=DatasetVersion.State.RELEASED)
    numbers = Dataset.objects.filter(id__in=[dataset.id for dataset in page]).annotate(
        latest=Max("versions__number", filter=released)
    )
    latest = dict(numbers.values_list("id", "latest"))
    versions = DatasetVersion.objects.filter(dataset_id__in=latest, number__in=set(latest.values()) - {None})
    by_dataset = {version.dataset_id: version for version in versions if latest[version.dataset_id] == version.number}
    return {"rows": [(dataset, by_dataset.get(dataset.id)) for dataset in page]}


DATASETS = List(
    on="datasets",
    words=Words(
        counted=ngettext_lazy("%(shown)s dataset", "%(shown)s datasets", "count"),
        uncounted=_("Datasets"),
        none=_("No datasets yet"),
        how=_("A dataset is a name for samples that are released together, with a number and fixed sides."),
        icon="rectangle-stack",
    ),
    filters=DatasetFilters,
    fits=fits,
    columns=(
        ("", _("Name"), False),
        ("", _("Latest release"), True, NAMED),
        ("", _("Members"), True, NAMED),
        ("", _("By"), False),
        ("made", _("Created"), True, PLAIN),
    ),
    table=Dataset,
    fields=file_columns(Dataset, "id", "name"),
    prepare=_with_releases,
)
