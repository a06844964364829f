"""The list of the turns of all sessions of an agent."""

from dataclasses import replace
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Substr
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, TITLE, List, file_columns
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns
from openclaw_web.sqlite.fields import IsAmong
from search import narrow

from ..models import ConversationTurn, TranscriptEvent
from ..words import ANSWER_WORDS, DELIVERY_WORDS
from .agent_filters import COST, COUNTED, SECONDS, TOKENS, AgentFilters
from .session_list import SESSIONS, read_titles

FIRST_CHARACTERS = 240
COLUMNS = {
    "model": "model",
    "cost": "cost_usd__gte",
    "tokens": "total_tokens__gte",
    "errors": Term("error_count", "gt", 0),
    "answer": "answer_state",
    "delivery": "delivery",
}
READ = file_columns(
    ConversationTurn,
    *("id", "session_id", "turn_number", "created_at", "model", "tool_call_count", "error_count"),
    *("total_tokens", "cost_usd", "unpriced_tokens", "latency_ms", "repeat_of"),
    *("asked_model", "answer_state", "delivery"),
)
FIELDS = (*READ, "user", "reply")


class TurnFilters(AgentFilters):
    """The filters of the list of turns."""

    FINDS_WORDS = True
    ORDERS, DEFAULT = {"time": ("created_at", "place")}, "-time"
    HIDDEN = ("counted",)
    OFFERED = {"model": "model"}
    CHIPS = AgentFilters.CHIPS | {"q": _("Message"), "slow": _("Minimum duration")}
    DESCRIPTIONS = AgentFilters.DESCRIPTIONS | {
        "session": "only this session, in the order of its records",
        "q": "words, phrases in quotes, `-without` and `pre*` in the messages of the user",
        "tool": "only turns that called this tool",
        "errors": "only turns with a failed tool or model call",
        "answer": "what is unusual about the answer",
        "delivery": "whether the person received the answer, as far as it is known",
    }
    q = forms.CharField(label=_("Search messages"), required=False, max_length=200)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    cost = forms.FloatField(**COST)
    tokens = forms.IntegerField(**TOKENS)
    slow = forms.FloatField(**SECONDS)
    tool = forms.CharField(label=_("Tool"), required=False, max_length=256)
    errors = forms.BooleanField(label=_("Only with errors"), required=False)
    answer = forms.ChoiceField(label=_("Answer"), required=False, choices=ANSWER_WORDS.items())
    delivery = forms.ChoiceField(label=_("Delivery"), required=False, choices=DELIVERY_WORDS.items())
    branches = forms.BooleanField(label=_("Include abandoned branches"), required=False)
    counted = forms.BooleanField(**COUNTED)


def fits(agent, *, sort=TurnFilters.DEFAULT, session="", branches=False, slow=None, counted=False, **values) -> Listing:
    """The turns of all sessions that fit by time, or of one `session` by number.

    Usually these are turns of active branches; with `branches` those of abandoned ones as well. With `counted` turns
    whose message repeats another session are left out. `slow` is the least duration in seconds.
    """
    order = get_order_columns(TurnFilters.ORDERS, sort)
    rows = ConversationTurn.objects.using(agent.db).placed()
    if counted:
        repeated = TranscriptEvent.objects.using(agent.db).filter(repeat_of__isnull=False)
        rows = rows.exclude(Exists(repeated.filter(session_id=OuterRef("session_id"), seq=OuterRef("first_seq"))))
    if session:
        rows, order = rows.filter(session_id=session), (f"{'-' if sort.startswith('-') else ''}turn_number",)
    rows = rows.exclude(answer_state="") if values.get("answer") else rows  # as the index of unusual answers says it
    conditions = build_terms(values, COLUMNS, moment="created_at")
    if text := values.get("q"):
        keys = narrow.find_keys(agent.db, text, "record", session or None, kind="user")
        if keys is None:  # without an index
            conditions.append(Term("user_message_content", "icontains", text))
        else:
            rows = rows.filter(IsAmong(("session_id", "first_seq"), keys))
    conditions += [Term("latency_ms", "gte", round(slow * 1000))] if slow else []
    listing = build_listing(rows, conditions, order=order)
    if not branches and listing.condition is None:
        # Nearly all turns are active, so passing over the others needs no search.
        listing = replace(listing, rows=listing.rows.active())
    elif not branches:
        listing = build_listing(rows, [*conditions, Term("is_active", "exact", True)], order=order)
    if tool := values.get("tool"):
        of_turn = {"session_id": OuterRef("session_id"), "seq__range": (OuterRef("first_seq"), OuterRef("last_seq"))}
        listing = listing.narrow(Exists(TranscriptEvent.objects.using(agent.db).filter(tool_name=tool, **of_turn)))
    return listing


def _read(turns: QuerySet[ConversationTurn]) -> QuerySet[ConversationTurn, dict[str, Any]]:
    """Turns as dictionaries, with `user` and `reply`: how both sides' words begin."""
    return turns.values(
        *READ,
        "place",
        user=Substr("user_message_content", 1, FIRST_CHARACTERS),
        reply=Substr("agent_message_content", 1, FIRST_CHARACTERS),
    )


TURNS = List(
    on="turns",
    words=replace(
        SESSIONS.words,
        counted=ngettext_lazy("%(shown)s turn of %(agent)s", "%(shown)s turns of %(agent)s", "count"),
        uncounted=_("Turns of %(agent)s"),
        none=_("No turns yet"),
    ),
    filters=TurnFilters,
    fits=fits,
    columns=(
        ("time", _("Time"), False, PLAIN),
        ("", _("User and reply"), False, TITLE),
        ("", _("Session"), False),
        ("", _("Model"), False),
        ("", _("Calls"), True),
        ("", _("Errors"), True, NAMED),
        ("", _("Tokens"), True),
        ("", _("Cost"), True, PLAIN),
        ("", _("Duration"), True),
    ),
    table=ConversationTurn,
    fields=FIELDS,
    prepare=lambda page, _filters, agent: {"rows": page, "titles": read_titles(agent.db, page)},
    is_prepared_from_file=True,
    read=_read,
    file=_read,
    shape=lambda turn: {name: turn[name] for name in FIELDS},
)
