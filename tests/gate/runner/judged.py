"""Talks for our own gate to judge, and what is stored afterwards; the endpoint is tests.llm_endpoint."""

import json

from gate.models import GateCall, MemoryGateDecision
from gate.runner import job
from gate.runner.turn_selection import TurnChoice
from tests.gate.decided import MINUTE, talk  # noqa: F401 - for who imports from here
from tests.llm_endpoint import says

DB = "agent_ada"
USED = {"prompt_tokens": 700, "completion_tokens": 40}


def answer(decision="UPDATE_USER", reason="Likes tea.", fact="The user likes tea."):
    """What a model that keeps to its prompt says."""
    return json.dumps({"decision": decision, "reason": reason, "candidateFact": fact})


def decides(*args, **kwargs):
    """Answers with a decision and its usage."""
    return says(answer(*args, **kwargs), **USED)


def run(agent, listener=None, **asked):
    """A run in this process; its job."""
    return job.run_here(agent, TurnChoice(**asked), by="root", listener=listener)


def decisions(db=DB):
    return MemoryGateDecision.objects.using(db).order_by("turn_id")


def calls(db=DB):
    return GateCall.objects.using(db).order_by("created_at", "id")


def outcomes(db=DB):
    return [call.outcome for call in calls(db)]
