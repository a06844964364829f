"""API of changes that were handed to agents.

It also has the text that brings a file back into the prompt.
"""

from pydantic import Field

from agents.decorators import agent_view_for
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import Handover
from . import cures, handovers, outcomes
from .outcomes import sentence_of


class HandoverOut(table_schema(Handover)):
    state: str = Field(description="queued, running or ended")
    outcome: str = Field(
        description="done, unchanged, other, untrusted, unrecorded, failed, not_started; timed_out, canceled and "
        "interrupted: the agent may still carry out the change; empty: not known yet"
    )
    sentence: str = Field(description="the outcome in words")

    @staticmethod
    def resolve_sentence(row: Handover) -> str:
        return sentence_of(row)


class HandoverStarted(Schema):
    handover: HandoverOut
    job: JobOut


class CureOut(Schema):
    name: str
    problem: str = Field(description="why there is no cure to hand over; empty: there is")
    content: str | None = Field(description="the whole file: read it before you hand this over")
    message: str = Field(description="the text to send to the agent in a session of its owner; empty: none")


router = Operations("guardian_handovers_api", tags=["guardian"])


@router.get("/agents/{agent}/guardian/handovers/{handover_id}", HandoverOut, 404, 503)
@agent_view_for("operator")
def guardian_handover_detail(request, agent, handover_id: str):
    """One change that was handed to the agent, with its outcome."""
    return handovers.find(agent.db, handover_id)


@router.post("/agents/{agent}/guardian/handovers/{handover_id}/check", HandoverOut, 404, 409, 503)
@agent_view_for("operator")
def guardian_handover_check(request, agent, handover_id: str):
    """Check the file and OpenClaw's record again.

    The agent may have made the change since.
    """
    return outcomes.check_again(agent, handovers.find(agent.db, handover_id), by=request.user.username)


@router.get("/agents/{agent}/guardian/files/{name}/cure", CureOut, 404, 409, 503)
@agent_view_for("operator")
def guardian_file_cure(request, agent, name: str):
    """The text with which an agent writes a file again that its prompt leaves out.

    The request sends nothing.
    """
    return cures.find_cure(agent, name)
