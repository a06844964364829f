"""The list of an agent's sessions: filters, columns and words."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists import paging
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.paging import Listing, Term, build_listing, build_terms, get_order_columns
from openclaw_web.lists.segments import EVERYTHING, Segment, Segments

from ..models import Session
from ..words import STATE_WORDS
from . import facets, last_words
from .agent_filters import COST, TOKENS, AgentFilters

WINDOW = paging.WINDOW
SCATTERED_WINDOW = 2_000  # in another order than activity, sessions are not side by side in the file
COLUMNS = {
    "channel": "channel_id",
    "origin": "origin",
    "model": "model",
    "state": "source_state",
    "cost": "cost_usd__gte",
    "tokens": "total_tokens__gte",
    "errors": Term("error_count", "gt", 0),
    "q": "title__icontains",
}
SEEKS = ("channel_id", "origin", "model", "source_state", "error_count")  # their indexes go on with activity
SEGMENTS = Segments(
    label=_("Kind of session"),
    column="origin",
    first="chats",
    parts={
        "chats": Segment(_("Chats"), without=("cron", "subagent", "hook")),
        "scheduled": Segment(_("Scheduled"), among=("cron",)),
        "subagents": Segment(_("Sub-agents"), among=("subagent",)),
        "all": EVERYTHING,
    },
)


class SessionFilters(AgentFilters):
    """The filters of the list of sessions."""

    SEGMENTS = SEGMENTS

    ORDERS, DEFAULT = (
        {
            "activity": ("last_activity_at", "id"),
            "started": ("created_at", "id"),
            "cost": ("known_cost", "id"),
            "tokens": ("total_tokens", "id"),
            "errors": ("error_count", "id"),
            "turns": ("turn_count", "id"),
        },
        "-activity",
    )
    OFFERED = {"channel": "channel_id", "origin": "origin", "model": "model"}
    CHIPS = AgentFilters.CHIPS | {"q": _("Title")}
    DESCRIPTIONS = AgentFilters.DESCRIPTIONS | {
        "origin": "main, direct, group, channel, cron, subagent, …",
        "state": "state of the file that the session was read from",
        "q": "words in the title",
        "errors": "only sessions with a failed tool or model call",
    }
    q = forms.CharField(label=_("Search titles"), required=False, max_length=200)
    channel = forms.CharField(label=_("Channel"), required=False, max_length=500)
    origin = forms.CharField(label=_("Origin"), required=False, max_length=500)
    model = forms.CharField(label=_("Model"), required=False, max_length=500)
    state = forms.ChoiceField(label=_("Source"), required=False, choices=STATE_WORDS.items())
    cost = forms.FloatField(**COST)
    tokens = forms.IntegerField(**TOKENS)
    errors = forms.BooleanField(label=_("Only with errors"), required=False)


def fits(agent, *, sort=SessionFilters.DEFAULT, segment="", **values) -> Listing:
    """The sessions of an agent that fit, without their metadata.

    Days are those of the last activity.
    """
    order = get_order_columns(SessionFilters.ORDERS, sort)
    seeks, window = (SEEKS, WINDOW) if sort.endswith("activity") else ((), SCATTERED_WINDOW)
    rows = Session.objects.using(agent.db).for_reading()
    conditions = [*SEGMENTS.term(segment), *build_terms(values, COLUMNS, moment="last_activity_at")]
    return build_listing(rows, conditions, order=order, seeks=seeks, window=window)


def read_titles(db: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    """The titles of the sessions that rows of a list belong to, by their ids."""
    ids = {row["session_id"] for row in rows}
    return dict(Session.objects.using(db).filter(id__in=ids).values_list("id", "title"))


def _prepare(page, _filters, agent):
    return {"rows": page, "last_words": last_words.read_last_words(agent.db, [session.id for session in page])}


SESSIONS = List(
    on="sessions",
    words=Words(
        counted=ngettext_lazy("%(shown)s session of %(agent)s", "%(shown)s sessions of %(agent)s", "count"),
        uncounted=_("Sessions of %(agent)s"),
        none=_("No sessions yet"),
        how=_("Conversations and scheduled runs appear here after an import."),
        is_imported=True,
        icon="chat-bubble-left-right",
    ),
    filters=SessionFilters,
    fits=fits,
    columns=(
        ("", _("Session"), False),
        ("", _("From"), False),
        ("turns", _("Turns"), True),
        ("tokens", _("Tokens"), True),
        ("cost", _("Cost"), True, PLAIN),
        ("errors", _("Errors"), True, NAMED),
        ("", _("Duration"), True),
        ("activity", _("Last activity"), True, PLAIN),
    ),
    table=Session,
    fields=file_columns(
        Session,
        *("id", "title", "session_key", "channel_id", "origin", "source_state", "model"),
        *("created_at", "last_activity_at", "turn_count", "record_count", "tool_call_count", "error_count"),
        *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    ),
    prepare=_prepare,
    is_prepared_from_file=True,
    amounts=lambda agent, ms: SEGMENTS.amounts(lambda column: facets.count_values(agent.db, column, ms)),
)
