"""Turns for our own gate to judge, and the rows it stores; the endpoint is tests.llm_endpoint."""

import json

from gate.models import GateCall, MemoryGateDecision
from gate.runner import job
from gate.runner.turn_selection import TurnChoice
from tests.gate.decision_rows import MINUTE, create_turns  # noqa: F401 - tests import them from here
from tests.llm_endpoint import says

DB = "agent_ada"
USED = {"prompt_tokens": 700, "completion_tokens": 40}


def answer(decision="UPDATE_USER", reason="Likes tea.", fact="The user likes tea."):
    """Returns the answer of a model that keeps to its prompt, as JSON."""
    return json.dumps({"decision": decision, "reason": reason, "candidateFact": fact})


def decides(*args, **kwargs):
    """Returns the behaviour of an endpoint that answers with a decision and its usage."""
    return says(answer(*args, **kwargs), **USED)


def run(agent, listener=None, **choice):
    """Runs the gate in this process and returns the job."""
    return job.run_here(agent, TurnChoice(**choice), by="root", listener=listener)


def decisions(db=DB):
    return MemoryGateDecision.objects.using(db).order_by("turn_id")


def calls(db=DB):
    return GateCall.objects.using(db).order_by("created_at", "id")


def outcomes(db=DB):
    return [call.outcome for call in calls(db)]
