"""The verbs of `openclaw-web episodes`, one module each, and what they share.

A verb gets `agent` as the name that was typed; `find_agent` returns the agent, after the other options were checked.
"""

import os
from pathlib import Path

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from agents import services as agents
from agents.models import Agent
from openclaw_web.commands.groups import WrongUse
from openclaw_web.errors import Refused

DEFAULT_AGENT = "main"


def find_agent(name: str, *, create: bool = False) -> Agent:
    """Return the agent of a name, whose file holds the ledger.

    The default agent is created when it is missing, and any other one with `create`: the existing tool creates its
    database as well. Raises NoAgent for an agent that is not here, and WrongUse for an invalid name.
    """
    try:
        agent_id = agents.normalise_agent_id(name)
    except Refused as exc:
        raise WrongUse(exc.sentence) from exc
    if (create or agent_id == DEFAULT_AGENT) and not Agent.objects.filter(agent_id=agent_id).exists():
        agents.register(agent_id)
    return agents.get(agent_id)


def add_scope(parser: CommandParser) -> None:
    """Add the options that name a scope; one of the two is needed."""
    parser.add_argument("--scope", metavar="SCOPE", help=_("scope of the events; required unless --global is given"))
    parser.add_argument(
        "--global", dest="global_scope", action="store_true", help=_("the scope with the name “global”")
    )


def add_payload(parser: CommandParser) -> None:
    """Add the option that includes payloads."""
    parser.add_argument("--include-payload", action="store_true", help=_("include the payload of each event"))


def get_path(name: str) -> Path:
    """Return the path of a file that was named, also as `~/file`."""
    return Path(os.path.expanduser(name)).absolute()  # noqa: PTH111 - the other one raises for an unknown user


def bound(value: int, most: int) -> int:
    """Return a limit within 1 and `most`, as the existing tool does."""
    return max(1, min(most, value))
