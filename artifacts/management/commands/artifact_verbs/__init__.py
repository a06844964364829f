"""The verbs of `openclaw-web artifact`: each has HELP, `add_arguments`, and `run` -> (receipt, words, exit status)."""

import re

import orjson
from django.db import connection
from django.utils.translation import gettext as _

from agents import services as agents
from agents.models import Agent
from artifacts.errors import NoSuchArtifact
from openclaw_web.errors import Refused

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class WrongUse(Refused):
    """What was typed makes no sense."""


def db_of(agent: str, *, make: bool = False) -> str:
    """The alias of an agent's file; with `make`, an agent that is not there yet is registered."""
    if Agent._meta.db_table not in connection.introspection.table_names():
        raise Refused(_("This home is new. Run once: openclaw-web migrate"))
    agent = agents.normalise_agent_id(agent)
    if make:
        return agents.register(agent).db
    found = Agent.objects.filter(agent_id=agent).first()
    if found is None:
        raise NoSuchArtifact(_("There is no agent %(agent)s here.") % {"agent": agent})
    return found.db


def json_object(text: str) -> dict:
    """The JSON object that an option holds. Raises WrongUse."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise WrongUse(_("--meta-json is not JSON: %(reason)s") % {"reason": exc}) from exc
    if not isinstance(value, dict):
        raise WrongUse(_("--meta-json must be a JSON object."))
    return value


def seconds(text: str) -> int:
    """`90`, `90s`, `30m`, `12h`, `7d` or `2w` as seconds. Raises WrongUse."""
    match = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", text)
    if not match:
        raise WrongUse(_("An age is spelled 90s, 30m, 12h, 7d or 2w."))
    return int(match[1]) * UNITS[match[2]]
