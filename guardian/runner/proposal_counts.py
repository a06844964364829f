"""Counts of proposals that wait for a person, by agent.

They are stored in the global database, for pages that are about no agent.
"""

from django.db import transaction

from agents.models import Agent
from people.models.bookkeeping import KeyValue

from ..models import GuardianRun

SCOPE = "guardian_waiting"


def count_waiting(db: str) -> int:
    """Return the number of waiting proposals of an agent."""
    return GuardianRun.objects.using(db).filter(state=GuardianRun.State.PROPOSED).count()


def store_count(agent: Agent) -> None:
    """Store how many proposals wait, after their number changed.

    A second call corrects the number.
    """
    with transaction.atomic():
        if count := count_waiting(agent.db):
            KeyValue.objects.put(SCOPE, agent.agent_id, count)
        else:
            KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id).delete()


def read_counts() -> dict[str, int]:
    """Return the number of waiting proposals by agent; agents with none are left out."""
    return KeyValue.objects.filter(scope=SCOPE).decoded(int)
