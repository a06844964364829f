"""Which memory files of which agents our guardian writes unattended: none, until an admin switches one on."""

from dataclasses import dataclass

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm import endpoint
from people.audit import log as audit
from people.models.kept import KeyValue

from ..files import MEMORY_FILES

SCOPE = "guardian"
NEVER = ("SOUL.md", "IDENTITY.md")  # docs/decisions/0027-what-is-never-written-unattended.md
FILES = tuple(name for name in MEMORY_FILES if name not in NEVER)


@dataclass(frozen=True, slots=True)
class Switched:
    """That a file is written unattended: since when (milliseconds), who said so, and where its content then goes."""

    since: int
    by: str
    host: str


def of(agent_id: str, name: str) -> Switched | None:
    """Whether a file of an agent is written unattended; None when it is not."""
    return of_agent(agent_id).get(name)


def of_agent(agent_id: str) -> dict[str, Switched]:
    """The files of an agent that are written unattended."""
    return all_on().get(agent_id, {})


def all_on() -> dict[str, dict[str, Switched]]:
    """Every file that is written unattended, by agent and name."""
    found: dict[str, dict[str, Switched]] = {}
    for key, value in KeyValue.objects.filter(scope=SCOPE).order_by("key").values_list("key", "value_json"):
        agent_id, _slash, name = key.rpartition("/")
        found.setdefault(agent_id, {})[name] = Switched(**orjson.loads(value))
    return found


def settle_times() -> None:
    """Let a file that was switched on in the future be on since now: no fact would ever be new enough."""
    for agent_id, files in all_on().items():
        for name, switched in files.items():
            if clock.is_future(switched.since):
                value = orjson.dumps({"since": clock.now_ms(), "by": switched.by, "host": switched.host}).decode()
                KeyValue.objects.filter(scope=SCOPE, key=f"{agent_id}/{name}").update(value_json=value)


def turn_on(agent: Agent, name: str, *, by: str) -> Switched:
    """Write a file unattended from now on; one that is on for this endpoint already stays as it is.

    Raises Refused for a file that is never written so, and while no endpoint is configured: it is named here.
    """
    if name not in FILES:
        raise Refused(_("%(file)s is never written unattended.") % {"file": name})
    host = endpoint.from_environment().host
    with transaction.atomic():
        found = of(agent.agent_id, name)
        if found and found.host == host:
            return found
        made = Switched(clock.now_ms(), by, host)
        value = orjson.dumps({"since": made.since, "by": by, "host": host}).decode()
        kept = {"value_json": value, "updated_at": made.since}
        KeyValue.objects.update_or_create(scope=SCOPE, key=_key(agent, name), defaults=kept)
        _log(by, "guardian_turned_on", agent, name)
        return made


def turn_off(agent: Agent, name: str, *, by: str) -> None:
    """Write a file unattended no more; what is being written at this moment is finished."""
    with transaction.atomic():
        if KeyValue.objects.filter(scope=SCOPE, key=_key(agent, name)).delete()[0]:
            _log(by, "guardian_turned_off", agent, name)


def _key(agent, name):
    return f"{agent.agent_id}/{name}"


def _log(by, action, agent, name):
    audit.record(by, action, object_type="file", object_id=name, agent_id=agent.agent_id)
