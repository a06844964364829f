"""The audit log as a list: its filters and what fits them, its columns and its words."""

from typing import Any

import orjson
from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from openclaw_web.lists.declaration import List, Words
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, in_order, narrowed, terms

from ..models.kept import AuditEntry
from . import entries

COLUMNS = {name: name for name in ("actor", "action", "object_type", "object_id")} | {"agent": "agent_id"}
FIELDS = ("id", "at", "actor", "via", "action", "object_type", "object_id", "agent_id", "detail")


class AuditFilters(DayFilters):
    """The filters of the audit log."""

    ORDERS, DEFAULT = {"time": ("at", "id")}, "-time"
    RARE = ("agent", "object_id")
    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    # By their names: several actions have the same words in a row, which says to what.
    action = forms.ChoiceField(
        label=_("What"), required=False, choices=[(name, name) for name in entries.action_names()]
    )
    object_type = forms.ChoiceField(label=_("To what"), required=False, choices=entries.OBJECTS.items())
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)
    object_id = forms.CharField(label=_("Its id"), required=False, max_length=600)


def fits(_user, *, sort=AuditFilters.DEFAULT, **asked) -> Listing:
    """The entries that fit."""
    rows, seeks = AuditEntry.objects.all(), ("actor", "action")
    if asked.get("object_type") and asked.get("object_id"):  # together they have an index
        rows = rows.filter(object_type=asked.pop("object_type"), object_id=asked.pop("object_id"))
        seeks = ()
    wanted = terms(asked, COLUMNS, moment="at")
    return narrowed(rows, wanted, order=in_order(AuditFilters.ORDERS, sort), seeks=seeks)


def shape(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table as the API and the files tell it."""
    return {**{name: row[name] for name in FIELDS[:-1]}, "detail": orjson.loads(row["detail_json"])}


AUDIT = List(
    on="audit",
    words=Words(
        counted=ngettext_lazy("%(shown)s entry in the audit log", "%(shown)s entries in the audit log", "count"),
        uncounted=_("Audit log"),
        none=_("Nothing has happened yet"),
        how=_("Sign-ins, changes, downloads and opened content will be here."),
        icon="clipboard-document-list",
    ),
    filters=AuditFilters,
    fits=fits,
    columns=(
        ("time", _("Time (UTC)"), False),
        ("", _("Who"), False),
        ("", _("What"), False),
        ("", _("To what"), False),
        ("", _("More"), False),
        ("", _("How"), False),
    ),
    fields=FIELDS,
    prepare=lambda page, _filters, _whose: {"rows": page, "entries": entries},
    file=lambda rows: rows.values(),
    shape=shape,
)
