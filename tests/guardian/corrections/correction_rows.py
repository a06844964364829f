"""Corrections of writes for tests."""

from agents.models import Agent
from guardian.corrections import correction_store


def create_correction(audit_id="w1", agent_id="ada", **overrides):
    """Correct a write: it should have been refused, unless `overrides` say otherwise."""
    defaults = {"status": "refused", "reason": "Said in jest.", "by": "oli"}
    return correction_store.correct_write(Agent.objects.get(agent_id=agent_id), audit_id, **(defaults | overrides))
