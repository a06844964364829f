"""The decisions before and after one: in the list that somebody came from, and in its session."""

from dataclasses import dataclass, replace
from typing import Any

from agents.models import Agent
from openclaw_web.lists.paging import Listing, cursor, flipped

from ..lists.decision_list import DECISIONS, DecisionFilters
from ..models import MemoryGateDecision

LOOKING_MS = 50  # for each neighbour in a search for words


@dataclass(frozen=True, slots=True)
class Beside:
    """The ids of the decisions beside one, None at an end of the list, or where none was found in time."""

    before: str | None
    after: str | None


def filters_of(query: Any) -> DecisionFilters:
    """The filters of the list in an address; none where they do not hold."""
    filters = DecisionFilters(query)
    is_known = filters.is_valid() and filters.sorting.removeprefix("-") in filters.ORDERS
    if is_known:
        return filters
    plain = DecisionFilters({})
    plain.is_valid()
    return plain


def in_list(agent: Agent, row: MemoryGateDecision, filters: DecisionFilters) -> Beside:
    """The neighbours of a decision in the list with these filters; `row` is `placed`."""
    return _beside(DECISIONS.fits(agent, sort=filters.sorting, **filters.asked), row)


def in_session(agent: Agent, row: MemoryGateDecision) -> Beside:
    """The decisions of the same session before and after it in time."""
    rows = MemoryGateDecision.objects.using(agent.db).placed().filter(session_id=row.session_id)
    return _beside(Listing(rows, ("created_at", "place")), row)


def _beside(listing, row):
    here = cursor([row.created_at, row.place])
    listing = replace(listing, rows=listing.rows.values("id", "created_at", "place"))
    if listing.time_ms:
        listing = replace(listing, time_ms=LOOKING_MS)
    pages = [
        replace(listing, order=order).page(after=here, size=1) for order in (flipped(listing.order), listing.order)
    ]
    return Beside(*(page[0]["id"] if page else None for page in pages))
