"""Which memory files of which agents our guardian writes unattended: none, until an admin switches one on."""

from django.utils.translation import gettext as _

from agents.models import Agent
from agents.runners import switches
from agents.runners.switches import Switch
from openclaw_web.errors import Refused
from openclaw_web.llm import endpoint

from ..files import MEMORY_FILES
from .asking.guardians import RUNNER

NEVER = ("SOUL.md", "IDENTITY.md")  # docs/decisions/0027-what-is-never-written-unattended.md
FILES = tuple(name for name in MEMORY_FILES if name not in NEVER)


def turn_on(agent: Agent, name: str, *, by: str) -> Switch:
    """Write a file unattended from now on; one that is on for this endpoint already stays as it is.

    Raises Refused for a file that is never written so, and while no endpoint is configured: it is named here.
    """
    if name not in FILES:
        raise Refused(_("%(file)s is never written unattended.") % {"file": name})
    return switches.turn_on(RUNNER, agent, name, by=by, host=endpoint.from_environment().host)
