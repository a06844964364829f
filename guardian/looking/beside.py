"""The writes before and after one: in the list that somebody came from."""

from typing import Any

from agents.models import Agent
from openclaw_web.lists import neighbours
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.neighbours import Beside

from ..lists.audit_list import WRITES, AuditFilters
from ..models import WriteGuardianAudit


def filters_of(query: Any) -> ListFilters:
    """The filters of the list in an address; none where they do not hold."""
    return neighbours.filters_of(AuditFilters, query)


def in_list(agent: Agent, row: WriteGuardianAudit, filters: ListFilters) -> Beside:
    """The neighbours of a write in the list with these filters; `row` is `placed`."""
    return neighbours.beside(WRITES.fits(agent, sort=filters.sorting, **filters.asked), row)
