"""API of changes that were handed to agents.

It also has the text that brings a file back into the prompt.
"""

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from . import cures, handovers, outcomes
from .schemas import CureOut, HandoverOut

router = Operations("guardian_handovers_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/handovers/{handover_id}", HandoverOut, 404, 503)
@agent_view
@needs("operator")
def guardian_handover_detail(request, agent, handover_id: str):
    """One change that was handed to the agent, with its outcome."""
    return handovers.find(agent.db, handover_id)


@router.post("/agents/{agent}/guardian/handovers/{handover_id}/check", HandoverOut, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_handover_check(request, agent, handover_id: str):
    """Check the file and OpenClaw's record again.

    The agent may have made the change since.
    """
    return outcomes.check_again(agent, handovers.find(agent.db, handover_id), by=request.user.username)


@router.get("/agents/{agent}/guardian/files/{name}/cure", CureOut, 404, 409, 503)
@agent_view
@needs("operator")
def guardian_file_cure(request, agent, name: str):
    """The text with which an agent writes a file again that its prompt leaves out.

    The request sends nothing.
    """
    return cures.find_cure(agent, name)
