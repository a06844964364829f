"""The list of the records of all sessions of an agent."""

from dataclasses import replace
from typing import Any

import orjson
from django import forms
from django.db.models import Case, F, Q, QuerySet, TextField, When
from django.db.models.functions import Length, Substr
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, TITLE, List, file_columns
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns
from openclaw_web.sqlite.fields import IsAmong
from openclaw_web.sqlite.json_columns import decode
from search import narrow

from ..collectors.records import read_facts
from ..models import IS_COUNTED_ERROR, TranscriptEvent
from ..words import EVENT_WORDS
from .agent_filters import COUNTED, AgentFilters
from .session_list import SESSIONS, read_titles
from .turn_list import FIRST_CHARACTERS

WINDOW = 1_000  # records are big: a search reads fewer of them than of other rows
TEXT_WINDOW = 500  # records whose whole text one search reads
LONGEST_READ = 16_000  # characters of a record that is read to say how it begins
SEARCHED = _("Finds whole words, “phrases” and the beginning of words: pre*.")
COLUMNS = {"kind": "kind", "tool": "tool_name", "model": "model", "failed": Term("is_failed", "exact", True)}
READ = file_columns(
    TranscriptEvent,
    *("session_id", "seq", "created_at", "turn_number", "kind", "tool_name", "model", "is_failed"),
)
FIELDS = (*READ, "record_id", "text")


class EventFilters(AgentFilters):
    """The filters of the list of records."""

    FINDS_WORDS = True
    ORDERS, DEFAULT = {"time": ("created_at", "place")}, "-time"
    HIDDEN = ("counted", "error")
    OFFERED = {"model": "model"}
    CHIPS = AgentFilters.CHIPS | {"q": _("Text")}
    DESCRIPTIONS = AgentFilters.DESCRIPTIONS | {
        "session": "only this session, in the order of its records",
        "failed": "only failed tool and model calls",
        "error": "only failed calls of this group of errors, without copies and repeated ones",
        "q": "words, phrases in quotes, `-without` and `pre*`, as in the search",
    }
    q = forms.CharField(label=_("Search records"), required=False, max_length=200, help_text=SEARCHED)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=EVENT_WORDS.items())
    tool = forms.CharField(label=_("Tool"), required=False, max_length=256)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    failed = forms.BooleanField(label=_("Only failed"), required=False)
    error = forms.CharField(label=_("Error"), required=False, max_length=40)
    counted = forms.BooleanField(**COUNTED)


def fits(agent, *, sort=EventFilters.DEFAULT, session="", types=(), counted=False, error="", **values) -> Listing:
    """The records of all sessions that fit by time, or of one `session` in its order.

    With `types` only records of these kinds. With `counted` only those that sums count: no copies, and none that
    repeats a record of another session.
    """
    order = get_order_columns(EventFilters.ORDERS, sort)
    rows = TranscriptEvent.objects.using(agent.db).placed()
    if session:  # its records lie together, in the order of their numbers
        rows, order = rows.filter(session_id=session), (f"{'-' if sort.startswith('-') else ''}seq",)
    if error:  # as the index of errors has them
        rows = rows.filter(IS_COUNTED_ERROR, error_group=error)
    keys = narrow.find_keys(agent.db, values["q"], "record", session or None) if values.get("q") else None
    rows = rows if keys is None else rows.filter(IsAmong(("session_id", "seq"), keys))
    # Without an index. A record is JSON: there a quotation mark is written \", a new line \n.
    words = orjson.dumps(values.get("q") or "").decode()[1:-1] if keys is None else ""
    conditions = build_terms(values, COLUMNS, moment="created_at") + (
        [Term("event_json", "icontains", words)] if words else []
    )
    conditions += [Term("is_synthetic", "exact", False), Term("repeat_of", "isnull", True)] if counted else []
    listing = build_listing(rows, conditions, order=order, window=TEXT_WINDOW if words else WINDOW)
    if not types:
        return listing
    has_type = Q(kind__in=types)
    return replace(listing, condition=listing.condition & has_type if listing.condition else has_type)


def _read(events: QuerySet[TranscriptEvent]) -> QuerySet[TranscriptEvent, dict[str, Any]]:
    """Records as dictionaries with `record_id` and `body`.

    `body` is the record's JSON, or the beginning of it when that is long.
    """
    short = When(long__lte=LONGEST_READ, then=F("event_json"))
    return events.alias(long=Length("event_json")).values(
        *READ,
        "place",
        record_id=F("event_id"),
        body=Case(short, default=Substr("event_json", 1, FIRST_CHARACTERS), output_field=TextField()),
    )


def _find_beginning(body):
    record = decode(body)
    if not record:  # only its beginning was read
        return body[:FIRST_CHARACTERS]
    record_facts = read_facts(record)
    calls = " ".join(f"{call.name} {orjson.dumps(call.arguments).decode()}" for call in record_facts.calls[:3])
    return (record_facts.text or calls or record_facts.thinking or record_facts.error or "")[:FIRST_CHARACTERS]


def _shape(event):
    return {name: event[name] for name in FIELDS[:-1]} | {"text": _find_beginning(event["body"])}


def _prepare(page, _filters, agent):
    for event in page:
        event["text"] = _find_beginning(event["body"])
    words = {kind: str(EVENT_WORDS.get(kind, kind)) for kind in {event["kind"] for event in page}}
    return {"rows": page, "titles": read_titles(agent.db, page), "kinds": words}


EVENTS = List(
    on="events",
    words=replace(
        SESSIONS.words,
        counted=ngettext_lazy("%(shown)s record of %(agent)s", "%(shown)s records of %(agent)s", "count"),
        uncounted=_("Transcript records of %(agent)s"),
        none=_("No records yet"),
    ),
    filters=EventFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("Begins with"), False, TITLE),
        ("", _("Kind"), False, PLAIN),
        ("", _("Tool or model"), False, PLAIN),
        ("", _("Session"), False),
        ("", _("Turn"), True),
        ("", _("Tokens"), True),
        ("", _("Cost"), True),
    ),
    table=TranscriptEvent,
    fields=FIELDS,
    prepare=_prepare,
    is_prepared_from_file=True,
    read=_read,
    file=_read,
    shape=_shape,
)
