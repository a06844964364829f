"""The audit log as a list: filters, query, columns and texts."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists import paging
from openclaw_web.lists.declaration import PLAIN, REST, TITLE, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.lists.segments import EVERYTHING, Segment, Segments

from ..models.bookkeeping import AuditEntry
from . import entries
from .log import READING

COLUMNS = {name: name for name in ("actor", "action", "object_type", "object_id")} | {"agent": "agent_id"}
FIELDS = (*file_columns(AuditEntry, "id"), "detail")
WINDOW = 10_000  # rows of about the same time are neighbours in the file
# People read a log for rare actions; on a busy day nearly all entries are verdicts and opened content.
VERDICTS = ("labelled", "label_undone", "bulk_labelled", "bulk_undone", "claimed")
SEGMENTS = Segments(
    label=_("Kind of entry"),
    column="action",
    first="administration",
    parts={
        "administration": Segment(_("Administration"), without=(*VERDICTS, *READING)),
        "verdicts": Segment(_("Verdicts"), among=VERDICTS),
        "reading": Segment(_("Reading"), among=READING),
        "all": EVERYTHING,
    },
)


class AuditFilters(DayFilters):
    """The filters of the audit log."""

    SEGMENTS = SEGMENTS

    ORDERS, DEFAULT = {"time": ("at", "id")}, "-time"
    DESCRIPTIONS = {"actor": "user name"}
    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    action = forms.ChoiceField(label=_("Action"), required=False, choices=entries.action_choices)
    object_type = forms.ChoiceField(label=_("Object"), required=False, choices=entries.OBJECTS.items())
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)
    object_id = forms.CharField(label=_("Object ID"), required=False, max_length=600)


def fits(_user, *, sort=AuditFilters.DEFAULT, segment="", **criteria) -> Listing:
    """The listing of the matching entries."""
    rows, seeks = AuditEntry.objects.all(), ("actor", "action")
    if criteria.get("object_type") and criteria.get("object_id"):  # together they have an index
        rows = rows.filter(object_type=criteria.pop("object_type"), object_id=criteria.pop("object_id"))
        seeks = ()
    part, conditions = SEGMENTS.term(segment), build_terms(criteria, COLUMNS, moment="at")
    window = WINDOW if part and not conditions else paging.WINDOW
    return build_listing(
        rows, [*part, *conditions], order=get_order_columns(AuditFilters.ORDERS, sort), seeks=seeks, window=window
    )


def shape(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table for the API and the files."""
    return {**{name: row[name] for name in FIELDS[:-1]}, "detail": AuditEntry.detail.decode(row["detail_json"])}


AUDIT = List(
    on="audit",
    words=Words(
        counted=ngettext_lazy("%(shown)s entry in the audit log", "%(shown)s entries in the audit log", "count"),
        uncounted=_("Audit log"),
        none=_("No entries yet"),
        how=_("Sign-ins, changes, downloads and opened content will appear here."),
        icon="clipboard-document-list",
    ),
    filters=AuditFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("Who"), False, PLAIN),
        ("", _("Action"), False, TITLE),
        ("", _("Object"), False, REST),
        ("", _("Details"), False),
        ("", _("Via"), False),
    ),
    table=AuditEntry,
    fields=FIELDS,
    prepare=lambda page, _filters, _whose: {"rows": page, "entries": entries},
    file=lambda rows: rows.values(),
    shape=shape,
)
