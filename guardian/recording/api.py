"""The endpoint that records writes of a running plugin."""

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
    """Record writes of a running plugin: up to 100 in at most 5 MB.

    All are recorded or none. The same id with other content: 409.
    """
    result = api_import.record_reports(agent, body.writes, by=request.user.get_username())
    answer = {"recorded": result.new, "known": result.known, "withheld": result.withheld}
    return Status(201 if result.new else 200, answer)
