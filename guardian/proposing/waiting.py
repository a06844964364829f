"""How many proposals wait for a person: noted in the global file, for pages that are about no agent."""

import orjson
from django.db import transaction

from agents.models import Agent
from openclaw_web import clock
from people.models.kept import KeyValue

from ..models import GuardianRun

SCOPE = "guardian_waiting"


def of(db: str) -> int:
    """The proposals of an agent that wait."""
    return GuardianRun.objects.using(db).filter(state=GuardianRun.State.PROPOSED).count()


def note(agent: Agent) -> None:
    """Note how many wait, after that changed: done again, it is right again."""
    with transaction.atomic():
        rows = KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id)
        if count := of(agent.db):
            kept = {"value_json": orjson.dumps(count).decode(), "updated_at": clock.now_ms()}
            KeyValue.objects.update_or_create(scope=SCOPE, key=agent.agent_id, defaults=kept)
        else:
            rows.delete()


def of_all() -> dict[str, int]:
    """How many wait, by agent; agents with none are left out."""
    rows = KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json")
    return {key: orjson.loads(value) for key, value in rows}
