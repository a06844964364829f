"""Which sessions, records and turns a list shows, and in which order: the same for pages, files and the API."""

from dataclasses import replace
from typing import Any

import orjson
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, TextField, When
from django.db.models.functions import Length, Substr

from openclaw_web.lists import paging
from openclaw_web.lists.paging import Listing, Term, in_order, narrowed

from ..collectors.records import facts
from ..models import ConversationTurn, Session, TranscriptEvent, TranscriptEventIdentity

WINDOW = paging.WINDOW
SCATTERED_WINDOW = 2_000  # sessions by another order than activity do not lie side by side in the file
EVENT_WINDOW = 1_000  # records are big: fewer of them are looked through
TEXT_WINDOW = 500  # records whose whole text one search reads
FIRST_CHARACTERS = 240
LONGEST_READ = 16_000  # characters of a record that is read to say how it begins
SESSION_ORDERS = {
    "activity": ("last_activity_at", "id"),
    "started": ("created_at", "id"),
    "cost": ("cost_usd", "id"),
    "tokens": ("total_tokens", "id"),
    "errors": ("error_count", "id"),
    "turns": ("turn_count", "id"),
}
EVENT_ORDERS = {"time": ("created_at", "place")}
TURN_ORDERS = {"time": ("created_at", "place")}
NEWEST_SESSIONS, NEWEST_EVENTS, NEWEST_TURNS = "-activity", "-time", "-time"
# Columns with an index that goes on with the order of activity.
SESSION_SEEKS = ("channel_id", "origin", "model", "source_state", "error_count")
EVENT_COLUMNS = (
    *("session_id", "seq", "created_at", "turn_number", "kind", "tool_name", "model", "is_failed"),
    *("total_tokens", "cost_usd"),
)
TURN_COLUMNS = (
    *("id", "session_id", "turn_number", "created_at", "model", "tool_call_count", "error_count"),
    *("total_tokens", "cost_usd", "latency_ms"),
)


def sessions(db: str, *, sort: str = NEWEST_SESSIONS, channel="", origin="", model="", state="", **filters) -> Listing:
    """Sessions by one of SESSION_ORDERS (`-` before it: the largest first), without their metadata.

    Also narrowed by `errors` (true: only with some), `cost` and `tokens` (at least), `since` and `until` (milliseconds
    of the last activity, `until` excluded), `q` (words of the title).
    """
    order = in_order(SESSION_ORDERS, sort)
    terms = [*_same(channel_id=channel, origin=origin, model=model, source_state=state)]
    terms += _range("last_activity_at", filters)
    terms += _at_least(cost_usd=filters.get("cost"), total_tokens=filters.get("tokens"))
    terms += _failures(filters) + _words("title", filters)
    by_activity = order[0].endswith("last_activity_at")
    seeks, window = (SESSION_SEEKS, WINDOW) if by_activity else ((), SCATTERED_WINDOW)
    return narrowed(Session.objects.using(db).for_reading(), terms, order=order, seeks=seeks, window=window)


def events(db: str, *, sort: str = NEWEST_EVENTS, session="", kind="", tool="", model="", **filters) -> Listing:
    """Records of all sessions by time, or of one `session` in its order; `for_lists` of them are what a list shows.

    Also narrowed by `failed`, `since` and `until` (milliseconds), `q` (words anywhere in the record).
    """
    order = in_order(EVENT_ORDERS, sort)
    rows = TranscriptEvent.objects.using(db).placed()
    if session:  # its records lie together, in the order of their numbers
        rows, order = rows.filter(session_id=session), (f"{'-' if sort.startswith('-') else ''}seq",)
    terms = [*_same(kind=kind, tool_name=tool, model=model), *_range("created_at", filters)]
    terms += [Term("is_failed", "exact", True)] if filters.get("failed") else []
    # A record is JSON: there a quotation mark is written \", a new line \n.
    words = orjson.dumps(filters.get("q") or "").decode()[1:-1]
    terms += [Term("event_json", "icontains", words)] if words else []
    return narrowed(rows, terms, order=order, window=TEXT_WINDOW if words else EVENT_WINDOW)


def turns(db: str, *, sort: str = NEWEST_TURNS, session="", model="", active=True, **filters) -> Listing:
    """Turns of all sessions by time, or of one `session` by number; with `active` only of the branches it ended with.

    Also narrowed by `errors`, `cost` and `tokens` (at least), `since` and `until` (in ms), `q` (the user's words).
    """
    order = in_order(TURN_ORDERS, sort)
    rows = ConversationTurn.objects.using(db).placed()
    if session:
        rows, order = rows.filter(session_id=session), (f"{'-' if sort.startswith('-') else ''}turn_number",)
    terms = [*_same(model=model), *_range("created_at", filters)]
    terms += _at_least(cost_usd=filters.get("cost"), total_tokens=filters.get("tokens"))
    terms += _failures(filters) + _words("user_message_content", filters)
    found = narrowed(rows, terms, order=order)
    if not active:
        return found
    if found.condition is None:  # nearly all turns are active: one that is not is passed over, no search is needed
        return replace(found, rows=found.rows.active())
    return narrowed(rows, [*terms, Term("is_active", "exact", True)], order=order)


def event_rows(events: QuerySet[TranscriptEvent]) -> QuerySet[TranscriptEvent, dict[str, Any]]:
    """Records as dictionaries, with `record_id` and `body`: the record's JSON, or how it begins when that is long."""
    who = TranscriptEventIdentity.objects.using(events.db)
    who = who.filter(session_id=OuterRef("session_id"), seq=OuterRef("seq")).values("event_id")[:1]
    short = When(long__lte=LONGEST_READ, then=F("event_json"))
    return events.alias(long=Length("event_json")).values(
        *EVENT_COLUMNS,
        "place",
        record_id=Subquery(who),
        body=Case(short, default=Substr("event_json", 1, FIRST_CHARACTERS), output_field=TextField()),
    )


def turn_rows(turns: QuerySet[ConversationTurn]) -> QuerySet[ConversationTurn, dict[str, Any]]:
    """Turns as dictionaries, with `user` and `reply`: how both sides' words begin."""
    return turns.values(
        *TURN_COLUMNS,
        "place",
        user=Substr("user_message_content", 1, FIRST_CHARACTERS),
        reply=Substr("agent_message_content", 1, FIRST_CHARACTERS),
    )


def titles(db: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    """The titles of the sessions that rows of a list belong to, by their ids."""
    ids = {row["session_id"] for row in rows}
    return dict(Session.objects.using(db).filter(id__in=ids).values_list("id", "title"))


def beginning(body: str) -> str:
    """What a record of `event_rows` says, at most FIRST_CHARACTERS of it."""
    try:
        said = facts(orjson.loads(body))
    except orjson.JSONDecodeError:  # only its beginning was read
        return body[:FIRST_CHARACTERS]
    calls = " ".join(f"{call.name} {orjson.dumps(call.arguments).decode()}" for call in said.calls[:3])
    return (said.text or calls or said.thinking or said.error or "")[:FIRST_CHARACTERS]


def _same(**columns):
    return [Term(column, "exact", value) for column, value in columns.items() if value]


def _at_least(**columns):
    return [Term(column, "gte", value) for column, value in columns.items() if value]


def _range(column, filters):
    ends = {"gte": filters.get("since"), "lt": filters.get("until")}
    return [Term(column, lookup, value) for lookup, value in ends.items() if value is not None]


def _failures(filters):
    return [Term("error_count", "gt", 0)] if filters.get("errors") else []


def _words(column, filters):
    return [Term(column, "icontains", filters["q"])] if filters.get("q") else []
