"""The verbs of `openclaw-web artifact`: each has HELP, EXAMPLES, `add_arguments`, and `run` -> Outcome."""

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
    """The alias of an agent's file; with `make`, an agent that is not there yet is registered.

    Raises NoSuchArtifact for an agent that has no file, Refused when it has to be brought up to date first.
    """
    found = agents.register(agents.normalise_agent_id(agent)) if make else find_agent(agent)
    try:
        return found.db
    except databases.OldAgentFile as exc:
        raise Refused(str(exc)) from exc


def find_agent(name: str) -> Agent:
    """The agent of this name. Raises NoSuchArtifact."""
    name = agents.normalise_agent_id(name)
    found = Agent.objects.filter(agent_id=name).first()
    if found is None:
        told = {"agent": name}
        raise NoSuchArtifact(
            _("There is no agent %(agent)s here. Run “openclaw-web collect” once, or store an artifact for this agent.")
            % told
        )
    return found


def parse_handle(handle: str) -> str:
    """A handle as it was typed or pasted, without the space around it. Raises NotAHandle, whatever home this is."""
    handles.parse(handle.strip())
    return handle.strip()


def parse_json_object(text: str) -> dict:
    """The JSON object that an option holds. Raises WrongUse."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise WrongUse(_("--meta-json is not JSON: %(reason)s") % {"reason": exc}) from exc
    if not isinstance(value, dict):
        raise WrongUse(_("--meta-json must be a JSON object."))
    return value
