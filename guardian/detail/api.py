"""Endpoints that read writes to memory files in the JSON API."""

from django.http import Http404
from ninja import Query

from agents.decorators import agent_view
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.pages.roles import needs

from ..files import MEMORY_FILES
from ..lists.audit_list import WRITES
from ..lists.schemas import GuardianWriteOut, GuardianWriteQuery
from ..recording.api import router  # the POST of the same address has this router
from . import api_detail, history, weeks
from .schemas import (
    GuardianBlameOut,
    GuardianChartOut,
    GuardianChartQuery,
    GuardianEventOut,
    GuardianOptedOut,
    GuardianWriteDetail,
)

MOST_CHARACTERS = 2_000_000  # of facts and reasons in one answer


@router.get("/agents/{agent}/guardian/writes", Page[GuardianWriteOut], 404, 409, 503)
@agent_view
@needs("viewer")
def guardian_write_list(request, agent, filters: Query[GuardianWriteQuery]):
    """Writes to memory files, newest first. A search may return fewer than `limit`, and a `next`."""
    listing = WRITES.fits(agent, **filters.criteria())
    return page_to_json(listing.page(**filters.place, budget=MOST_CHARACTERS, weigh=_count_characters))


@router.get("/agents/{agent}/guardian/writes/{audit_id}", GuardianWriteDetail, 404, 503)
@agent_view
@needs("viewer")
def guardian_write_detail(request, agent, audit_id: str):
    """One write with its diff, its turn and decision, its statuses and its rollback."""
    return api_detail.read_write(agent, audit_id)


@router.get("/agents/{agent}/guardian/files/{name}/history", Page[GuardianEventOut], 404, 409, 503)
@agent_view
@needs("viewer")
def guardian_file_history(request, agent, name: str, filters: Query[PageQuery]):
    """Writes and versions of a memory file, newest first."""
    if name not in MEMORY_FILES:
        raise Http404
    return page_to_json(history.read_timeline(agent, name, **filters.place))


@router.get("/agents/{agent}/guardian/files/{name}/blame", GuardianBlameOut, 404, 503)
@agent_view
@needs("viewer")
def guardian_file_blame(request, agent, name: str):
    """The write, turn and message behind each line of a memory file, where known."""
    blame = api_detail.read_blame(agent, name)
    if blame is None:
        raise Http404
    return blame


@router.get("/agents/{agent}/guardian/opted-out", GuardianOptedOut, 404, 503)
@agent_view
@needs("viewer")
def guardian_opted_out(request, agent):
    """The lines of memory files that come from people who opted out, by write."""
    return api_detail.read_opted_out(agent)


@router.get("/agents/{agent}/guardian/chart", GuardianChartOut, 404, 409, 503)
@agent_view
@needs("viewer")
def guardian_chart(request, agent, filters: Query[GuardianChartQuery]):
    """Writes, refusals, failures and rollbacks by ISO week (UTC), the oldest first."""
    week_counts = weeks.count_weeks(agent, file=filters.file or "", weeks=int(filters.weeks))
    return {"file": filters.file, "weeks": [week.api_fields for week in week_counts]}


def _count_characters(row):
    return len(row.reason or "") + len(row.candidate_fact or "")
