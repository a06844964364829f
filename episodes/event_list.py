"""The list of the events of one scope: its filters, query, columns and texts."""

from dataclasses import replace

from django import forms
from django.utils.translation import gettext_lazy as _

from ledger.lists.session_list import read_titles
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns

from .events import NAME_CHARACTERS, TYPES
from .forms import ScopeField
from .models import REDACTED, EpisodicEvent
from .queries import SEARCH_MS, EventQuery, search_listing

SEARCH_WINDOW = 1_000  # events are big: a search reads fewer of them at a time than of other rows
COLUMNS = {"session": "session_id", "type": "type"}
FIELDS = file_columns(EpisodicEvent)


class EventFilters(DayFilters):
    """The filters of the list of events; clearing them keeps the scope."""

    ORDERS, DEFAULT = {"happened": ("ts_ms", "id")}, "-happened"
    PLACE = ("scope",)
    CHIPS = {"q": _("Text")}
    scope = ScopeField(required=False)
    q = forms.CharField(
        label=_("Search events"),
        required=False,
        max_length=200,
        help_text=_("Searches summaries, payloads and references, the newest first."),
    )
    type = forms.ChoiceField(label=_("Type"), required=False, choices=[(name, name) for name in TYPES])
    session = forms.CharField(label=_("Session"), required=False, max_length=NAME_CHARACTERS)

    @property
    def criteria(self):
        """The filters in force, and the scope."""
        return super().criteria | {"scope": self.cleaned_data["scope"]}


def fits(agent, *, scope, sort=EventFilters.DEFAULT, session="", q="", **filters) -> Listing:
    """The events of a scope that fit; `q` are words of their texts.

    An index serves the session, or else the scope with or without the type.
    """
    rows = EpisodicEvent.objects.using(agent.db).all()
    terms = build_terms(filters | {"session": session}, COLUMNS, moment="ts_ms")
    if session:
        terms.append(Term("scope", "exact", scope))
    else:
        rows = rows.filter(scope=scope)
    listing = build_listing(
        rows,
        terms,
        order=get_order_columns(EventFilters.ORDERS, sort),
        seeks=("session_id",) if session else ("type",),
        time_ms=SEARCH_MS,
    )
    if not q:
        return listing
    words = search_listing(agent.db, EventQuery(scope), q).condition
    return replace(listing.narrow(words), window=SEARCH_WINDOW)


def _hide_redacted(row):
    return row | {"summary": REDACTED} if row["redacted"] else row


EVENTS = List(
    on="episodes",
    words=Words(
        counted=ngettext_lazy("%(shown)s event", "%(shown)s events", "count"),
        uncounted=_("Events of %(agent)s"),
        none=_("No events in this scope"),
        how=_("Events appear here when they are captured, imported or appended."),
        is_imported=True,
        icon="queue-list",
    ),
    filters=EventFilters,
    fits=fits,
    columns=(
        ("happened", _("Time"), False, PLAIN),
        ("", _("Type"), False, PLAIN),
        ("", _("Summary"), False, TITLE),
        ("", _("Session"), False),
        ("", _("Actor"), False, NAMED),
    ),
    table=EpisodicEvent,
    fields=FIELDS,
    prepare=lambda page, _filters, agent: {
        "rows": [_hide_redacted(row) for row in page],
        "titles": read_titles(agent.db, page),
    },
    read=lambda rows: rows.values("id", "redacted", *FIELDS),
    file=lambda rows: rows.values("id", "redacted", *FIELDS),
    shape=lambda row: {name: _hide_redacted(row)[name] for name in FIELDS},
)
