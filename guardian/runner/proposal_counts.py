"""How many proposals wait for a person: noted in the global file, for pages that are about no agent."""

from django.db import transaction

from agents.models import Agent
from people.models.bookkeeping import KeyValue

from ..models import GuardianRun

SCOPE = "guardian_waiting"


def count_waiting(db: str) -> int:
    """The proposals of an agent that wait."""
    return GuardianRun.objects.using(db).filter(state=GuardianRun.State.PROPOSED).count()


def store_count(agent: Agent) -> None:
    """Note how many wait, after that changed: done again, it is right again."""
    with transaction.atomic():
        if count := count_waiting(agent.db):
            KeyValue.objects.put(SCOPE, agent.agent_id, count)
        else:
            KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id).delete()


def read_counts() -> dict[str, int]:
    """How many wait, by agent; agents with none are left out."""
    return KeyValue.objects.filter(scope=SCOPE).decoded(int)
