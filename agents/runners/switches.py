"""Switches of scheduled runs, by agent, or by file of an agent.

All are off until an admin turns them on.
"""

from dataclasses import asdict, dataclass

from django.db import transaction

from openclaw_web import clock
from people.audit import log as audit
from people.models.bookkeeping import KeyValue

from ..models import Agent
from .runner import Runner


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch that is on: since when (milliseconds), by whom, and for which endpoint.

    `host` is empty where no endpoint was named.
    """

    since: int
    by: str
    host: str = ""


def read_agent_switches(runner: Runner, agent_id: str) -> dict[str, Switch]:
    """Return the switches of an agent by the name of a file.

    The switch of the agent as a whole has an empty name.
    """
    return read_all_switches(runner).get(agent_id, {})


def read_all_switches(runner: Runner) -> dict[str, dict[str, Switch]]:
    """Return all switches that are on, by agent and name."""
    switches: dict[str, dict[str, Switch]] = {}
    for key, value in KeyValue.objects.filter(scope=runner.kind).decoded().items():
        agent_id, _slash, name = key.partition("/")
        switches.setdefault(agent_id, {})[name] = Switch(**value)
    return switches


def correct_future_times(runner: Runner) -> None:
    """Change switches that were turned on in the future to be on since now.

    Otherwise no item would ever be new enough.
    """
    for agent_id, switches in read_all_switches(runner).items():
        for name, switched in switches.items():
            if clock.is_future(switched.since):
                value = _build_value(Switch(clock.now_ms(), switched.by, switched.host))
                KeyValue.objects.put(runner.kind, _build_key(agent_id, name), value)


def turn_on(runner: Runner, agent: Agent, name: str = "", *, by: str, host: str = "") -> Switch:
    """Turn a switch on.

    A switch that is on for this endpoint already does not change.
    """
    with transaction.atomic():
        switched = read_agent_switches(runner, agent.agent_id).get(name)
        if switched and switched.host == host:
            return switched
        switched = Switch(clock.now_ms(), by, host)
        KeyValue.objects.put(runner.kind, _build_key(agent.agent_id, name), _build_value(switched))
        _record_audit(f"{runner.kind}_turned_on", agent, name, by)
        return switched


def turn_off(runner: Runner, agent: Agent, name: str = "", *, by: str) -> None:
    """Turn a switch off; a run that is active ends after its current item."""
    with transaction.atomic():
        if KeyValue.objects.filter(scope=runner.kind, key=_build_key(agent.agent_id, name)).delete()[0]:
            _record_audit(f"{runner.kind}_turned_off", agent, name, by)


def _build_key(agent_id, name):
    return f"{agent_id}/{name}" if name else agent_id


def _build_value(switched):
    return {key: value for key, value in asdict(switched).items() if value != ""}


def _record_audit(action, agent, name, by):
    audit_object = (
        {"object_type": "file", "object_id": name} if name else {"object_type": "agent", "object_id": agent.agent_id}
    )
    audit.record(by, action, **audit_object, agent_id=agent.agent_id)
