"""What `doctor --fix` mends in our own store. Each function does one thing, and doing it twice does no harm."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from ulid import ULID

from agents import databases, services
from agents.models import Agent
from openclaw_web import amounts
from openclaw_web.disk import publication
from openclaw_web.errors import Refused
from openclaw_web.sqlite import database_copies, failures, inspection, integrity, upkeep
from overview import summaries
from overview.models import AgentSummary

from .findings import Finding, format_place
from .store import integrity_checks, own_store


def repair_finding(finding: Finding) -> str:
    """Mend one finding that can be; what was done, in a sentence. Raises Refused when it cannot be after all."""
    return REPAIRS[finding.repair](finding)


def migrate_global(finding: Finding) -> str:
    call_command("migrate", verbosity=0)
    return _("The global database has the schema of this version of OpenClaw Web.")


def migrate_agents(finding: Finding) -> str:
    databases.migrate(finding.agent)
    return _("The database of agent %(agent)s has the schema of this version of OpenClaw Web.") % {
        "agent": finding.agent
    }


def triggers(finding: Finding) -> str:
    """Make every trigger of the global file what its migration makes it."""
    upkeep.make_triggers()
    return _("The triggers that protect rows from changes are in place.")


def register(finding: Finding) -> str:
    """Take an agent's file into the registry, or bring its row up to where the file is."""
    databases.migrate(finding.agent)
    agent = services.register(finding.agent)
    place = databases.get_path(finding.agent).relative_to(settings.HOME_DIR).as_posix()
    if agent.agent_db_path != place:
        agent.agent_db_path = place
        agent.save(update_fields=["agent_db_path"])
    _refresh(agent)
    return _("Agent %(agent)s is registered.") % {"agent": finding.agent}


def permissions(finding: Finding) -> str:
    """Close everything in the home to others; links are left alone."""
    home, count = settings.HOME_DIR, 0
    for name, mode in own_store.read_modes(home):
        if not stat.S_ISLNK(mode) and own_store.is_wrong_mode(mode):
            with suppress(FileNotFoundError):
                handle = os.open(Path(home, name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:  # by the handle: what stands there now may be something else than a moment ago
                    wanted = own_store.FOLDER if stat.S_ISDIR(mode) else own_store.FILE
                    publication.restrict(Path(f"/proc/self/fd/{handle}"), wanted)
                    count += 1
                finally:
                    os.close(handle)
    words = ngettext(
        "%(count)s file or folder is now restricted to its owner.",
        "%(count)s files and folders are now restricted to their owner.",
        count,
    )
    return words % {"count": count}


def mend_declared(finding: Finding) -> str:
    """Do what the check that found it declares as its repair; the totals of an agent follow from its rows."""
    agent, check = Agent.objects.filter(agent_id=finding.agent).first(), integrity.find_check(finding.check)
    count = check.repair(agent) if check.repair else 0
    if agent:
        _refresh(agent, is_whole=True)
    return integrity.REPAIRED % {"place": format_place(finding.agent), "rows": amounts.format_amount(check.noun, count)}


def _refresh(agent, *, is_whole=False):
    known = AgentSummary.objects.filter(agent_id=agent.agent_id).values_list("last_collected_at", flat=True).first()
    summaries.refresh(agent, collected_at=known, is_whole=is_whole)
    connections[agent.db].close()


REPAIRS: dict[str, Callable[[Finding], str]] = {
    "migrate_global": migrate_global,
    "migrate_agents": migrate_agents,
    "triggers": triggers,
    "register": register,
    "permissions": permissions,
    integrity_checks.REPAIR: mend_declared,
    integrity_checks.LAST: mend_declared,
}


def prepare_global_database(say: Callable[[str], object]) -> None:
    """Migrate the global database when it is not up to date; a copy of it is kept beside it.

    Raises Refused when it is damaged.
    """
    file = Path(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])
    inside = inspection.inspect_file(file)
    if inside.damage:
        sentence = _("The global database is damaged: %(why)s.") % {"why": inside.damage[:300]}
        raise Refused(f"{sentence} {failures.describe_way_out(settings.HOME_DIR)}")
    if not own_store.has_pending_migrations(inside, is_global=True):
        return
    copy = file.with_name(f"openclaw.before-migrate-{ULID()}.sqlite")
    database_copies.copy_database(file, copy)
    publication.restrict(copy, 0o600)
    say(_("The global database is not up to date. A copy is kept: %(path)s") % {"path": copy})
    call_command("migrate", verbosity=0)
