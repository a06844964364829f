"""The list of all agents' memory files in prompts: its filters, query, columns and texts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from guardian.files import MEMORY_FILES
from guardian.standing.words import LABELS
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns

from .models import MemoryStanding

SEEKS = ("agent_id", "state", "file_name")  # columns whose index continues with the order
COLUMNS = {"agent": "agent_id", "file": "file_name", "state": "state"}


class MemoryFilters(ListFilters):
    """The filters of the list of memory files."""

    ORDERS, DEFAULT = {"state": ("rank", "id")}, "state"
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)
    file = forms.ChoiceField(label=_("File"), required=False, choices=[(name, name) for name in MEMORY_FILES])
    state = forms.ChoiceField(
        label=_("In the prompt?"), required=False, choices=[(state.value, label) for state, label in LABELS.items()]
    )


def fits(_user, *, sort=MemoryFilters.DEFAULT, **criteria) -> Listing:
    """Return the memory files that fit the filters, those that need a person first."""
    order = get_order_columns(MemoryFilters.ORDERS, sort)
    return build_listing(MemoryStanding.objects.all(), build_terms(criteria, COLUMNS), order=order, seeks=SEEKS)


MEMORY = List(
    on="memory",
    words=Words(
        counted=ngettext_lazy("%(shown)s memory file", "%(shown)s memory files", "count"),
        uncounted=_("Memory files"),
        none=_("No memory files yet"),
        how=_("An import lists here whether the prompts of each agent hold its memory files."),
        is_imported=True,
        icon="check-circle",
    ),
    filters=MemoryFilters,
    fits=fits,
    columns=(
        ("", _("File"), False),
        ("state", _("In the prompt?"), False, PLAIN),
        ("", _("Agent"), False, PLAIN),
        ("", _("In prompt"), True, NAMED),
        ("", _("Characters lost"), True, NAMED),
        ("", _("Recorded write"), True),
    ),
    table=MemoryStanding,
    fields=file_columns(MemoryStanding),
)
