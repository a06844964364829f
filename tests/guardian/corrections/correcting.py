"""Corrections for tests."""

from agents.models import Agent
from guardian.corrections import correction_store


def corrected(audit_id="w1", agent_id="ada", **said):
    """A correction of a write: it should have been refused, unless something else is said."""
    told = {"status": "refused", "reason": "Said in jest.", "by": "oli"}
    return correction_store.correct_write(Agent.objects.get(agent_id=agent_id), audit_id, **(told | said))
