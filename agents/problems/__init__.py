"""Problems of agents: missing or incomplete files, and databases of a newer OpenClaw."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from agents import database_loss, unread_parts, visits
from agents.models import Agent
from problems.kinds import Facts, Finding, Kind, Link


def check_files() -> Iterable[Finding]:
    """Report agents whose file is missing, or has fewer records than noted."""
    agents = Agent.objects.select_related("database").in_bulk()
    for agent_id in sorted(agents.keys() - visits.find_unchanged(agents)):  # an import found those complete
        agent = agents[agent_id]
        if loss := database_loss.find_loss(agent):
            yield Finding(facts={"held": loss.held, "noted": loss.noted}, agent_id=agent.agent_id)


def describe_file(facts: Facts) -> str:
    """Say which records an agent's file lacks."""
    return database_loss.describe_loss(facts["agent"], database_loss.Loss(facts["held"], facts["noted"]))


def check_schemas() -> Iterable[Finding]:
    """Report OpenClaw's databases with a higher schema than this version knows."""
    for path, parts in unread_parts.find_newer_parts():
        facts = {"path": path, "version": parts["version"], "known": parts["known"]}
        yield Finding(path, facts | {"unread": len(parts["unfamiliar"])}, level=parts["version"])


AGENT_FILE = Kind(
    label=gettext_lazy("Agent database"),
    severity=95,
    describe=describe_file,
    link=lambda _facts: Link(gettext_lazy("Repair"), "operations:doctor"),
    check=check_files,
    is_of_files=True,
)
NEWER_SCHEMA = Kind(
    label=gettext_lazy("Newer OpenClaw"),
    severity=48,
    describe=gettext_lazy(
        "%(path)s has schema %(version)s; this version of OpenClaw Web knows schemas up to %(known)s."
    ),
    link=lambda _facts: Link(gettext_lazy("Check"), "operations:doctor"),
    check=check_schemas,
)
