"""Repairs of our own store by `doctor --fix`. Each may be run twice without harm."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _

from agents import databases, services
from agents.models import Agent
from openclaw_web import amounts
from openclaw_web.amounts import format_plural
from openclaw_web.disk import publication
from openclaw_web.errors import Refused
from openclaw_web.sqlite import failures, inspection, integrity, upkeep
from openclaw_web.sqlite.failures import OLD_HOME
from overview import summaries
from overview.models import AgentSummary

from .findings import Finding, format_place
from .store import integrity_checks, own_store


def migrate_agents(finding: Finding) -> str:
    databases.migrate(finding.agent)
    return _("The database of agent %(agent)s has the schema of this version of OpenClaw Web.") % {
        "agent": finding.agent
    }


def triggers(finding: Finding) -> str:
    """Restore every trigger of the global file as its migration defines it."""
    upkeep.make_triggers()
    return _("The triggers that protect rows from changes are in place.")


def register(finding: Finding) -> str:
    """Register an agent's file, or correct its path in the registry."""
    databases.migrate(finding.agent)
    agent = services.register(finding.agent)
    place = databases.get_path(finding.agent).relative_to(settings.HOME_DIR).as_posix()
    if agent.agent_db_path != place:
        agent.agent_db_path = place
        agent.save(update_fields=["agent_db_path"])
    _refresh_summary(agent)
    return _("Agent %(agent)s is registered.") % {"agent": finding.agent}


def permissions(finding: Finding) -> str:
    """Restrict everything in the home to its owner, except links."""
    home, count = settings.HOME_DIR, 0
    for name, mode in own_store.read_modes(home):
        if not stat.S_ISLNK(mode) and own_store.is_wrong_mode(mode):
            with suppress(FileNotFoundError):
                handle = os.open(Path(home, name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:  # through the handle: the path may lead to another file by now
                    new_mode = own_store.FOLDER_MODE if stat.S_ISDIR(mode) else own_store.FILE_MODE
                    publication.restrict(Path(f"/proc/self/fd/{handle}"), new_mode)
                    count += 1
                finally:
                    os.close(handle)
    return format_plural(
        "%(count)s file or folder is now restricted to its owner.",
        "%(count)s files and folders are now restricted to their owner.",
        count,
    )


def mend_declared(finding: Finding) -> str:
    """Run the repair that a check declares, and compute the agent's totals again."""
    agent, check = Agent.objects.filter(agent_id=finding.agent).first(), integrity.find_check(finding.check)
    count = check.repair(agent) if check.repair else 0
    if agent:
        _refresh_summary(agent, is_whole=True)
    return integrity.REPAIRED % {"place": format_place(finding.agent), "rows": amounts.format_amount(check.noun, count)}


def _refresh_summary(agent, *, is_whole=False):
    known = AgentSummary.objects.filter(agent_id=agent.agent_id).values_list("last_collected_at", flat=True).first()
    summaries.refresh(agent, collected_at=known, is_whole=is_whole)
    connections[agent.db].close()


REPAIRS: dict[str, Callable[[Finding], str]] = {
    "migrate_agents": migrate_agents,
    "triggers": triggers,
    "register": register,
    "permissions": permissions,
    integrity_checks.REPAIR: mend_declared,
    integrity_checks.LAST_REPAIR: mend_declared,
}


def check_global_database() -> None:
    """Raise Refused when the global database is damaged or outdated: no run could be recorded."""
    file = Path(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])
    state = inspection.inspect_file(file)
    if state.damage:
        sentence = _("The global database is damaged: %(why)s.") % {"why": state.damage[:300]}
        raise Refused(f"{sentence} {failures.describe_way_out(settings.HOME_DIR)}")
    if own_store.has_pending_migrations(state, is_global=True):
        raise Refused(str(OLD_HOME))
