"""The registry of agents: registers agents, and finds them by name."""

import re

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.clock import now_ms
from openclaw_web.errors import Refused

from . import databases
from .models import Agent, AgentDatabase

AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,55}")


def normalise_agent_id(name: str) -> str:
    """Return a name as OpenClaw spells ids: lower case, other characters as dashes.

    At most 56 characters. Raises Refused when no valid character is left.
    """
    agent_id = re.sub(r"[^a-z0-9_-]+", "-", name.strip().lower()).lstrip("-_")[:56].rstrip("-")
    if not AGENT_ID.fullmatch(agent_id):
        raise Refused(_("“%(name)s” is not a valid agent name. Use letters, digits, - and _.") % {"name": name})
    return agent_id


class NoAgent(Refused):
    """There is no agent of this name, or its file cannot be used."""


def get(agent_id: str) -> Agent:
    """Return the agent of this name, whose file can be used. Raises NoAgent."""
    agent = Agent.objects.filter(agent_id=agent_id).first()
    if agent is None:
        raise NoAgent(databases.UnknownAgent(agent_id).sentence)
    get_alias(agent_id)
    return agent


def get_alias(agent_id: str) -> str:
    """Return the alias of an agent's file. Raises NoAgent when it cannot be used."""
    try:
        return str(databases.get_alias(agent_id))
    except databases.UnusableAgent as exc:
        raise NoAgent(exc.sentence) from exc


def register(agent_id: str, *, home_name: str = "", anew: bool = False) -> Agent:
    """Return an agent with its file, and create both when they are missing.

    Raises LostAgentFile when it was registered before and its file is missing: an empty one in its place would hide
    that. `anew` creates one all the same, for callers who fill it again.
    """
    if not AGENT_ID.fullmatch(agent_id):
        raise Refused(_("“%(name)s” is not a valid agent name. Use letters, digits, - and _.") % {"name": agent_id})
    if not anew and is_lost(agent_id):
        raise databases.LostAgentFile(agent_id, AgentDatabase.get_record_count(agent_id))
    try:
        if not databases.get_path(agent_id).exists():
            databases.create(agent_id)
    except databases.AgentExists:
        pass
    except PermissionError as exc:  # its folder is another user's
        raise databases.OldAgentFile(databases.describe_unread(agent_id, reasons.describe_error(exc))) from exc
    file = databases.get_path(agent_id).relative_to(settings.HOME_DIR).as_posix()
    now = now_ms()
    with transaction.atomic():
        agent, created = Agent.objects.get_or_create(
            agent_id=agent_id,
            defaults={"created_at": now, "updated_at": now, "agent_db_path": file, "home_name": home_name},
        )
        if created:
            AgentDatabase.objects.create(agent=agent, path=file, schema_version=databases.get_schema_version())
    return agent


def is_lost(agent_id: str) -> bool:
    """Return whether an agent is registered and its file is missing."""
    is_missing = databases.is_on_disk(agent_id) and databases.is_missing(agent_id)
    return is_missing and Agent.objects.filter(agent_id=agent_id).exists()


def has_no_content(agent_id: str) -> bool:
    """Return whether an agent's file is missing or blank: an import loses nothing in it."""
    return is_lost(agent_id) or databases.is_blank(agent_id)


def needs_new_file(agent_id: str) -> bool:
    """Return whether a repeated import needs a new file: this one is lost or damaged."""
    return is_lost(agent_id) or databases.is_damaged(agent_id) or databases.is_unsettled(agent_id)


def refresh_database_row(agent: Agent) -> None:
    """Store the size and schema of an agent's file, and that it was seen."""
    AgentDatabase.objects.update_or_create(
        agent=agent,
        defaults={
            "path": agent.agent_db_path,
            "schema_version": databases.get_schema_version(),
            "last_seen_at": now_ms(),
            "size_bytes": databases.get_path(agent.agent_id).stat().st_size,
        },
    )
