"""Decisions of memory_gate: tell of them."""

from ninja import Status

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from .recording import recorded
from .schemas import DecisionsIn, RecordedOut

router = Operations("gate_api", tags=["gate"])


@router.post("/agents/{agent}/gate/decisions", {201: RecordedOut, 200: RecordedOut}, 400, 404, 409, 503)
@agent_view
@needs("operator")
def gate_record(request, agent, body: DecisionsIn):
    """Record decisions of a running plugin: up to 100, all or none. The same id with other content: 409."""
    stored = recorded.record(agent, body.decisions)
    answer = {"recorded": stored.new, "known": stored.known, "withheld": stored.withheld}
    return Status(201 if stored.new else 200, answer)
