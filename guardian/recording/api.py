"""Writes to memory files that a running plugin tells of."""

from ninja import Status

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from . import api_import
from .schemas import WritesIn, WritesRecorded

router = Operations("guardian_recording_api", tags=["guardian"])


@router.post("/agents/{agent}/guardian/writes", {201: WritesRecorded, 200: WritesRecorded}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_record(request, agent, body: WritesIn):
    """Record writes of a running plugin: up to 100 in at most 5 MB, all or none. The same id, other content: 409."""
    stored = api_import.record_reports(agent, body.writes, by=request.user.get_username())
    answer = {"recorded": stored.new, "known": stored.known, "withheld": stored.withheld}
    return Status(201 if stored.new else 200, answer)
