"""The list of sources that imports skipped: filters, query, columns and texts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import SkippedSource
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, REST, List, Words, file_columns
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns

from .inventory.words import KIND_WORDS, REASON_WORDS

SEEKS = ("agent_id", "reason", "kind")  # columns whose index continues with the order
COLUMNS = {"agent": "agent_id", "reason": "reason", "kind": "kind", "name": "path__icontains"}


class SkippedFilters(ListFilters):
    """The filters of the list of skipped sources."""

    ORDERS, DEFAULT = {"name": ("path", "source_key")}, "name"
    DESCRIPTIONS = {"name": "a part of the path"}
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)
    reason = forms.ChoiceField(label=_("Reason"), required=False, choices=REASON_WORDS.items())
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=KIND_WORDS.items())
    name = forms.CharField(label=_("Name contains"), required=False, max_length=500)


def fits(_user, *, sort=SkippedFilters.DEFAULT, **criteria) -> Listing:
    """The matching files, folders and index entries that the last imports skipped."""
    order = get_order_columns(SkippedFilters.ORDERS, sort)
    return build_listing(SkippedSource.objects.all(), build_terms(criteria, COLUMNS), order=order, seeks=SEEKS)


SKIPPED = List(
    on="skipped",
    words=Words(
        counted=ngettext_lazy("%(shown)s skipped source", "%(shown)s skipped sources", "count"),
        uncounted=_("Skipped sources"),
        none=_("No skipped sources"),
        how=_(
            "Files, folders and index entries that an import found and did not read are listed here with the reason."
        ),
        icon="check-circle",
    ),
    filters=SkippedFilters,
    fits=fits,
    columns=(
        ("name", _("Name"), False),
        ("", _("Reason"), False, REST),
        ("", _("Kind"), False),
        ("", _("Agent"), False, PLAIN),
        ("", _("Size"), True, NAMED),
        ("", _("Noted"), True),
    ),
    table=SkippedSource,
    fields=file_columns(
        SkippedSource, "kind", "agent_id", "path", "reason", "detail", "session_id", "size_bytes", "mtime_ns"
    ),
    prepare=lambda page, _filters, _whose: {"rows": page, "reasons": REASON_WORDS, "kinds": KIND_WORDS},
)
