"""The list of an agent's rejected lines: filters, columns and words."""

from dataclasses import dataclass

from django import forms
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, REST, List, Words, file_columns
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.pages import glyphs

from ..models import RejectedRecord, Session
from ..words import REJECT_WORDS

FIRST = 48
COLUMNS = {"reason": "reason", "session": "session_id", "file": "file__icontains"}


class RejectedFilters(ListFilters):
    """The filters of the list of rejected records of one agent."""

    ORDERS, DEFAULT = {"found": ("id",)}, "-found"
    PLACE = ("agent",)
    DESCRIPTIONS = {"file": "a part of the name of the file"}
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)
    reason = forms.ChoiceField(label=_("Reason"), required=False, choices=REJECT_WORDS.items())
    file = forms.CharField(label=_("File name contains"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)


@dataclass(slots=True)
class RejectedRow:
    """One rejected line as a row of the page.

    `session_id` is set only when that session is stored.
    """

    row: RejectedRecord
    session_id: str | None
    reason: str
    start: str
    preview: SafeString


def fits(agent, *, sort=RejectedFilters.DEFAULT, **values) -> Listing:
    """The rejected records of an agent that fit."""
    rows = RejectedRecord.objects.using(agent.db).all()
    return build_listing(rows, build_terms(values, COLUMNS), order=get_order_columns(RejectedFilters.ORDERS, sort))


def _prepare(page, _filters, agent):
    session_ids = {row.session_id for row in page if row.session_id}
    known = set(Session.objects.using(agent.db).filter(id__in=session_ids).values_list("id", flat=True))
    return {"agent": agent, "rows": [_build_row(row, known) for row in page]}


def _build_row(row, known_sessions):
    return RejectedRow(
        row=row,
        session_id=row.session_id if row.session_id in known_sessions else None,
        reason=REJECT_WORDS.get(row.reason, row.reason),
        start=glyphs.to_one_line(row.raw_preview[:FIRST]),
        preview=glyphs.to_html(row.raw_preview),
    )


REJECTED = List(
    on="rejected",
    words=Words(
        counted=ngettext_lazy(
            "%(shown)s rejected record of %(agent)s", "%(shown)s rejected records of %(agent)s", "count"
        ),
        uncounted=_("Rejected records of %(agent)s"),
        none=_("No rejected records"),
        how=_(
            "Damaged transcript lines and lines that are not records are listed here with their file and the reason."
        ),
        icon="check-circle",
    ),
    filters=RejectedFilters,
    fits=fits,
    columns=(
        ("", _("File"), False),
        ("", _("Reason"), False, REST),
        ("", _("Begins with"), False),
        ("", _("Byte offset"), True),
        ("", _("Length"), True),
        ("found", _("Found"), True, PLAIN),
    ),
    table=RejectedRecord,
    fields=file_columns(RejectedRecord, "id"),
    prepare=_prepare,
)
