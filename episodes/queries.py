"""Reads events: always of one scope, in the order of their time.

Redacted rows read as redacted, whatever the row still holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max, Q, QuerySet, Sum

from openclaw_web.lists.paging import Listing, Page, Term, build_listing, build_terms, page_of
from openclaw_web.sqlite.json_columns import decode

from .events import WrongEvent, parse_moment, parse_types, resolve_scope
from .models import REDACTED, REDACTED_JSON, EpisodeRun, EpisodicEvent

MOST_ROWS = 500  # of one answer of the command line
ANSWER_CHARACTERS = 4 * 1024 * 1024  # texts of a page that has payloads
ORDER, NEWEST_FIRST = ("ts_ms", "id"), ("-ts_ms", "-id")
FILTERS: dict[str, str | Term] = {"session": "session_id", "scope": "scope", "actor": "agent_id"}
SEEKS = ("session_id", "scope")  # columns with an index that has the time next; the first that is set narrows the rows
SEARCH_MS = 200  # milliseconds for each page of a text search
COLUMNS = (
    *("id", "event_id", "ts_ms", "scope", "session_id", "agent_id", "type", "summary", "refs_json"),
    *("redacted", "schema_version", "created_at"),
)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A query of one scope.

    Times are milliseconds, both included; no types means all.
    """

    scope: str
    session_id: str | None = None
    from_ts_ms: int | None = None
    to_ts_ms: int | None = None
    types: Sequence[str] = field(default_factory=list)

    @classmethod
    def parse(
        cls,
        scope: object,
        *,
        is_global: bool = False,
        session_id: str | None = None,
        from_ts_ms: object = None,
        to_ts_ms: object = None,
        types: list[str] | None = None,
    ) -> "EventQuery":
        """Check a query. Raises WrongScope without a scope, and WrongEvent for other wrong values."""
        first, last = (None if moment is None else parse_moment(moment) for moment in (from_ts_ms, to_ts_ms))
        if first is not None and last is not None and first > last:
            raise WrongEvent("from_ts_ms cannot be greater than to_ts_ms")
        name = (session_id or "").strip() or None
        return cls(resolve_scope(scope, is_global), name, first, last, parse_types(types))

    def rows(self, db: str) -> QuerySet[EpisodicEvent]:
        """Return the events that fit, in no order."""
        criteria: dict[str, Any] = {"scope": self.scope}
        if self.session_id:
            criteria["session_id"] = self.session_id
        if self.from_ts_ms is not None:
            criteria["ts_ms__gte"] = self.from_ts_ms
        if self.to_ts_ms is not None:
            criteria["ts_ms__lte"] = self.to_ts_ms
        if self.types:
            criteria["type__in"] = self.types
        return EpisodicEvent.objects.using(db).filter(**criteria)


def read_events(
    db: str, query: EventQuery, *, limit: int, with_payload: bool = False
) -> tuple[list[dict[str, Any]], bool]:
    """Return the first events that fit, oldest first, and whether there are more."""
    columns = (*COLUMNS, "payload_json") if with_payload else COLUMNS
    rows = list(query.rows(db).order_by(*ORDER).values(*columns)[: limit + 1])
    return [build_item(row, with_payload=with_payload) for row in rows[:limit]], len(rows) > limit


def search_listing(db: str, query: EventQuery, words: str) -> Listing:
    """Return a search of the events that fit for all words, newest first, in limited time.

    It looks into summaries, payloads and refs of events that are not redacted, for parts of words as well.
    """
    return Listing(query.rows(db), NEWEST_FIRST, _build_condition(words), time_ms=SEARCH_MS)


def read_event_page(
    db: str, query: EventQuery, *, actor: str = "", words: str = "", with_payload: bool = False, **place: Any
) -> Page:
    """Return a page of the events that fit, in the order of their time.

    A search for `words` is newest first. `actor` is their `agent_id`, and `place` are arguments of `page_of`. An index
    serves the session, or else the scope with each type; a page looks for everything else in limited time. A page ends
    before its texts come to 4 million characters.
    """
    rows = EpisodicEvent.objects.using(db).values(*COLUMNS, *(["payload_json"] if with_payload else []))
    until = None if query.to_ts_ms is None else query.to_ts_ms + 1
    criteria = {"session": query.session_id, "scope": query.scope, "actor": actor, "since": query.from_ts_ms}
    terms = build_terms(criteria | {"until": until}, FILTERS, moment=ORDER[0])
    order = NEWEST_FIRST if words else ORDER
    limits = {"budget": ANSWER_CHARACTERS, "weigh": _count_characters} if with_payload else {}
    if query.types and not (query.session_id or actor or words):
        rows = build_listing(rows, terms, order=order, seeks=SEEKS).rows
        return page_of(tuple(rows.filter(type=name) for name in query.types), order=order, **limits, **place)
    terms += [Term("type", "in", query.types)] if query.types else []
    listing = build_listing(rows, terms, order=order, seeks=SEEKS, time_ms=SEARCH_MS)
    listing = listing.narrow(_build_condition(words)) if words else listing
    return listing.page(**limits, **place)


def _count_characters(row):
    return sum(len(row[name] or "") for name in ("summary", "refs_json", "payload_json"))


def _build_condition(words):
    condition = Q(redacted=0)
    for word in words.split()[:20]:
        condition &= Q(summary__icontains=word) | Q(payload_json__icontains=word) | Q(refs_json__icontains=word)
    return condition


def build_item(row: dict[str, Any], *, with_payload: bool) -> dict[str, Any]:
    """Return a row as an item of an answer, with the keys of the existing tool."""
    is_redacted = bool(row["redacted"])
    item = {
        **{name: row[name] for name in COLUMNS[:7]},
        "summary": REDACTED if is_redacted else row["summary"],
        "refs": None if is_redacted else decode(row["refs_json"], object),
        "redacted": is_redacted,
        **{name: row[name] for name in COLUMNS[-2:]},
    }
    if with_payload:
        text = row["payload_json"]
        if is_redacted and text != REDACTED_JSON:
            text = None
        item["payload"] = decode(text, object)
    return item


def read_removals(db: str, scope: str, since_ms: int) -> list[dict[str, Any]]:
    """Return how much retention removed of a scope, by type.

    Only runs count that removed events after `since_ms` (milliseconds). An item has `type`, `removed_count` and
    `before_ms`, the latest time before which events were removed.
    """
    runs = EpisodeRun.objects.using(db).filter(scope=scope, removed_count__gt=0, before_ms__gt=since_ms)
    totals = runs.values("type").annotate(removed_count=Sum("removed_count"), before_ms=Max("before_ms"))
    return list(totals.order_by("type"))
