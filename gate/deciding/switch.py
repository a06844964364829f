"""Which agents our gate judges the new turns of: off for every agent until an admin switches it on."""

from dataclasses import dataclass

import orjson
from django.db import transaction

from agents.models import Agent
from openclaw_web import clock
from people.audit import log as audit
from people.models.kept import KeyValue

SCOPE = "gate"


@dataclass(frozen=True, slots=True)
class Switched:
    """That an agent's gate is on: since when (milliseconds), and who switched it on."""

    since: int
    by: str


def of(agent_id: str) -> Switched | None:
    """Whether an agent's new turns are judged; None when they are not."""
    return all_on().get(agent_id)


def all_on() -> dict[str, Switched]:
    """Every agent whose gate is on, by id."""
    rows = KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json")
    return {key: Switched(**orjson.loads(value)) for key, value in rows}


def settle_times() -> None:
    """Let a gate that was switched on in the future be on since now: no turn would ever be new enough."""
    for agent_id, switched in all_on().items():
        if clock.is_future(switched.since):
            value = orjson.dumps({"since": clock.now_ms(), "by": switched.by}).decode()
            KeyValue.objects.filter(scope=SCOPE, key=agent_id).update(value_json=value)


def turn_on(agent: Agent, *, by: str) -> Switched:
    """Judge the turns of an agent that begin from now on; one that is on already stays as it is."""
    with transaction.atomic():
        if found := of(agent.agent_id):
            return found
        now = clock.now_ms()
        value = orjson.dumps({"since": now, "by": by}).decode()
        KeyValue.objects.create(scope=SCOPE, key=agent.agent_id, value_json=value, updated_at=now)
        audit.record(by, "gate_turned_on", object_type="agent", object_id=agent.agent_id, agent_id=agent.agent_id)
        return Switched(now, by)


def turn_off(agent: Agent, *, by: str) -> None:
    """Judge no more turns of an agent; a run that is under way ends after the turn it is at."""
    with transaction.atomic():
        if KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id).delete()[0]:
            audit.record(by, "gate_turned_off", object_type="agent", object_id=agent.agent_id, agent_id=agent.agent_id)
