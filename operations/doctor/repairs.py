"""What `doctor --fix` mends in our own store. Each function does one thing, and doing it twice does no harm."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from agents import databases, inspection, services
from agents.models import Agent
from ledger.models import SessionTool, ToolDay
from ledger.tool_days import ADDED, TOTAL_PLACE
from operations import summaries
from operations.models import AgentSummary

from . import copied_notes, own_store
from .findings import Finding


def mend(finding: Finding) -> str:
    """Mend one finding that can be; what was done, in a sentence. Raises Refused when it cannot be after all."""
    return REPAIRS[finding.repair](finding)


def migrate_global(finding: Finding) -> str:
    call_command("migrate", verbosity=0)
    return _("The global database has the schema of this program.")


def migrate_agents(finding: Finding) -> str:
    databases.migrate(finding.agent)
    return _("The file of agent %(agent)s has the schema of this program.") % {"agent": finding.agent}


def triggers(finding: Finding) -> str:
    """Make every trigger of the global file what its migration makes it."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name, sql in inspection.triggers().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
            cursor.execute(sql)
    return _("The triggers that keep rows from being changed are in place.")


def register(finding: Finding) -> str:
    """Take an agent's file into the registry, or bring its row up to where the file is."""
    databases.migrate(finding.agent)
    agent = services.register(finding.agent)
    place = databases.path(finding.agent).relative_to(settings.HOME_DIR).as_posix()
    if agent.agent_db_path != place:
        agent.agent_db_path = place
        agent.save(update_fields=["agent_db_path"])
    _refresh(agent)
    return _("Agent %(agent)s is registered.") % {"agent": finding.agent}


def rebuild_sums(finding: Finding) -> str:
    _refresh(Agent.objects.get(agent_id=finding.agent))
    return _("The sums of agent %(agent)s were made again.") % {"agent": finding.agent}


def tool_sums(finding: Finding) -> str:
    rebuild_tool_sums(databases.alias(finding.agent))
    return _("The sums of outputs by tool of agent %(agent)s were made again.") % {"agent": finding.agent}


def rebuild_tool_sums(db: str) -> None:
    """Make the sums by tool of all sessions again from those of each."""
    with transaction.atomic(using=db):
        sums = {name: Sum(name) for name in ADDED}
        rows = SessionTool.objects.using(db).order_by().values_list(*TOTAL_PLACE).annotate(**sums)
        ToolDay.objects.using(db).all().delete()
        ToolDay.objects.using(db).bulk_create(
            [ToolDay(**dict(zip((*TOTAL_PLACE, *ADDED), row, strict=True))) for row in rows], batch_size=500
        )


def permissions(finding: Finding) -> str:
    """Close everything in the home to others; links are left alone."""
    home, count = settings.HOME_DIR, 0
    for name, mode in own_store.modes(home):
        if not stat.S_ISLNK(mode) and own_store.is_wrong(mode):
            with suppress(FileNotFoundError):
                handle = os.open(Path(home, name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:  # by the handle: what stands there now may be something else than a moment ago
                    wanted = own_store.FOLDER if stat.S_ISDIR(mode) else own_store.FILE
                    os.chmod(f"/proc/self/fd/{handle}", wanted)  # noqa: PTH101
                    count += 1
                finally:
                    os.close(handle)
    return _("%(count)s files and folders are their owner's alone.") % {"count": count}


def _refresh(agent):
    known = AgentSummary.objects.filter(agent_id=agent.agent_id).values_list("last_collected_at", flat=True).first()
    summaries.refresh(agent, collected_at=known)
    connections[agent.db].close()


REPAIRS: dict[str, Callable[[Finding], str]] = {
    "migrate_global": migrate_global,
    "migrate_agents": migrate_agents,
    "triggers": triggers,
    "register": register,
    "summaries": rebuild_sums,
    "tool_sums": tool_sums,
    "permissions": permissions,
    "list_copied_notes": copied_notes.list_them,
}
