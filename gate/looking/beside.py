"""The decisions before and after one: in the list that somebody came from, and in its session."""

from typing import Any

from agents.models import Agent
from openclaw_web.lists import neighbours
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.neighbours import Beside
from openclaw_web.lists.paging import Listing

from ..lists.decision_list import DECISIONS, DecisionFilters
from ..models import MemoryGateDecision


def filters_of(query: Any) -> ListFilters:
    """The filters of the list in an address; none where they do not hold."""
    return neighbours.filters_of(DecisionFilters, query)


def in_list(agent: Agent, row: MemoryGateDecision, filters: ListFilters) -> Beside:
    """The neighbours of a decision in the list with these filters; `row` is `placed`."""
    return neighbours.beside(DECISIONS.fits(agent, sort=filters.sorting, **filters.asked), row)


def in_session(agent: Agent, row: MemoryGateDecision) -> Beside:
    """The decisions of the same session before and after it in time."""
    rows = MemoryGateDecision.objects.using(agent.db).placed().filter(session_id=row.session_id)
    return neighbours.beside(Listing(rows, ("created_at", "place")), row)
