"""Verbs of `openclaw-web artifact`: each has HELP, EXAMPLES, `add_arguments`, and `run` -> Outcome."""

import orjson
from django.utils.translation import gettext as _

from agents import databases
from agents import services as agents
from agents.models import Agent
from artifacts import handles
from artifacts.errors import NoSuchArtifact
from openclaw_web.commands.groups import WrongUse
from openclaw_web.errors import Refused


def get_alias(agent: str, *, make: bool = False) -> str:
    """The alias of an agent's database; with `make`, an unknown agent is registered.

    Raises NoSuchArtifact for an agent without a file, Refused when the file has to be updated first.
    """
    agent_row = agents.register(agents.normalise_agent_id(agent)) if make else find_agent(agent)
    try:
        return agent_row.db
    except databases.OldAgentFile as exc:
        raise Refused(str(exc)) from exc


def find_agent(name: str) -> Agent:
    """The agent of this name. Raises NoSuchArtifact."""
    name = agents.normalise_agent_id(name)
    agent = Agent.objects.filter(agent_id=name).first()
    if agent is None:
        words = {"agent": name}
        raise NoSuchArtifact(
            _("There is no agent %(agent)s here. Run “openclaw-web collect” once, or store an artifact for this agent.")
            % words
        )
    return agent


def parse_handle(handle: str) -> str:
    """The handle without surrounding space. Raises NotAHandle, also when the home has no agents."""
    handles.parse(handle.strip())
    return handle.strip()


def parse_json_object(text: str) -> dict:
    """Parse the JSON object of an option. Raises WrongUse."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise WrongUse(_("--meta-json is not JSON: %(reason)s") % {"reason": exc}) from exc
    if not isinstance(value, dict):
        raise WrongUse(_("--meta-json must be a JSON object."))
    return value
