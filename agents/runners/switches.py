"""What a runner does by itself, for which agents, or which files of theirs: nothing until an admin switches it on."""

from dataclasses import asdict, dataclass

from django.db import transaction

from openclaw_web import clock
from people.audit import log as audit
from people.models.bookkeeping import KeyValue

from ..models import Agent
from .runner import Runner


@dataclass(frozen=True, slots=True)
class Switch:
    """That it is on: since when (milliseconds), who said so, and the endpoint that was named then, if one was."""

    since: int
    by: str
    host: str = ""


def read_agent_switches(runner: Runner, agent_id: str) -> dict[str, Switch]:
    """What is on of an agent, by the name of its file; that of the agent as a whole has none."""
    return read_all_switches(runner).get(agent_id, {})


def read_all_switches(runner: Runner) -> dict[str, dict[str, Switch]]:
    """Everything that is on, by agent and name."""
    switches: dict[str, dict[str, Switch]] = {}
    for key, value in KeyValue.objects.filter(scope=runner.kind).decoded().items():
        agent_id, _slash, name = key.partition("/")
        switches.setdefault(agent_id, {})[name] = Switch(**value)
    return switches


def correct_future_times(runner: Runner) -> None:
    """Let what was switched on in the future be on since now: nothing would ever be new enough."""
    for agent_id, switches in read_all_switches(runner).items():
        for name, switched in switches.items():
            if clock.is_future(switched.since):
                value = _value(Switch(clock.now_ms(), switched.by, switched.host))
                KeyValue.objects.put(runner.kind, _key(agent_id, name), value)


def turn_on(runner: Runner, agent: Agent, name: str = "", *, by: str, host: str = "") -> Switch:
    """Do it by itself from now on; what is on for this endpoint already stays as it is."""
    with transaction.atomic():
        switched = read_agent_switches(runner, agent.agent_id).get(name)
        if switched and switched.host == host:
            return switched
        switched = Switch(clock.now_ms(), by, host)
        KeyValue.objects.put(runner.kind, _key(agent.agent_id, name), _value(switched))
        _record(f"{runner.kind}_turned_on", agent, name, by)
        return switched


def turn_off(runner: Runner, agent: Agent, name: str = "", *, by: str) -> None:
    """Do it no more by itself; what is under way ends after the thing that it is at."""
    with transaction.atomic():
        if KeyValue.objects.filter(scope=runner.kind, key=_key(agent.agent_id, name)).delete()[0]:
            _record(f"{runner.kind}_turned_off", agent, name, by)


def _key(agent_id, name):
    return f"{agent_id}/{name}" if name else agent_id


def _value(switched):
    return {key: value for key, value in asdict(switched).items() if value != ""}


def _record(action, agent, name, by):
    thing = (
        {"object_type": "file", "object_id": name} if name else {"object_type": "agent", "object_id": agent.agent_id}
    )
    audit.record(by, action, **thing, agent_id=agent.agent_id)
