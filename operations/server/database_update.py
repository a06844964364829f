"""Updates the databases of a home that an earlier program left, after a backup of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web import reasons
from openclaw_web.disk import mounts
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size
from openclaw_web.sqlite import known_migrations

from ..backups import backup_format, source_databases, upgrade_backups
from ..backups.upgrade_backups import UpgradeBackup

FIRST_TABLES = {"agents", "kv"}  # without these a home is blank, or its creation was interrupted


class FailedUpdate(Refused):
    """An update of the databases that did not finish."""


def update_databases(say: Callable[[str], object], *, with_backup: bool = True) -> None:
    """Migrate the global database and those of agents, after a backup when they have content.

    `say` gets a sentence before and after the backup. Raises Refused without a backup, and FailedUpdate when a
    migration fails.
    """
    outdated = find_outdated_databases()
    backup = _create_backup(outdated, say) if outdated and with_backup else upgrade_backups.read_note()
    with _describe_failure(backup, say):
        if known_migrations.find_missing(connections[DEFAULT_DB_ALIAS]):
            call_command("migrate", verbosity=0)
        if any(_needs_migration(agent.agent_id) for agent in Agent.objects.all()):
            try:
                call_command("migrate_agents", verbosity=0)
            except CommandError as exc:  # the pages of these agents say so; the other agents work
                say(str(exc))
    if backup:
        upgrade_backups.record_backup(backup)
        if not find_outdated_databases():
            upgrade_backups.remove_note()


def find_outdated_databases() -> list[Path]:
    """The databases of a home with content that lack migrations of this version."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not FIRST_TABLES.issubset(connection.introspection.table_names()):
        return []
    agents = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)  # other columns may be missing yet
    outdated = [databases.get_path(agent_id) for agent_id in agents if databases.is_outdated(agent_id)]
    if known_migrations.find_missing(connection):
        outdated.insert(0, settings.HOME_DIR / backup_format.GLOBAL_PATH)
    return outdated


def _create_backup(outdated, say):
    words = {"home": settings.HOME_DIR, "version": settings.VERSION}
    say(_("Updating the databases in %(home)s for version %(version)s. A backup is created first.") % words)
    try:
        backup, is_new = upgrade_backups.ensure_backup(outdated)
    except Refused as refused:
        raise Refused(f"{refused.sentence} {_describe_way_out(refused)}") from refused
    words = {"path": backup.path, "size": size(backup.bytes)}
    if not is_new:
        say(_("The databases are unchanged since their backup %(path)s (%(size)s), which is used again.") % words)
    elif backup.lacks:
        sentence = _("Backup: %(path)s, %(size)s. It is incomplete. %(lacks)s")
        say(sentence % (words | {"lacks": backup.lacks}))
    else:
        say(_("Backup: %(path)s, %(size)s, opened and verified.") % words)
    file_system = mounts.find_file_system(Path(backup.path).parent)
    if file_system and file_system.is_in_memory:
        say(_("This folder is in memory: the backup is lost when the machine restarts. Copy it to a disk."))
    return backup


def _describe_way_out(refused):
    """Say how to go on without a backup; an import by this version needs updated databases."""
    if isinstance(refused, source_databases.UnusableAgentDatabase):
        sentence = _(
            "No database was updated. Restore a backup: openclaw-web backup restore FILE --replace. Or continue "
            "without a backup: copy %(home)s to another folder, run openclaw-web serve --no-backup, and then import "
            "the agent again: openclaw-web collect --again --agent %(agent)s"
        )
        return sentence % {"home": settings.HOME_DIR, "agent": refused.agent_id}
    return _(
        "No database was updated. Solve this and start again, or update the databases without a backup: "
        "openclaw-web serve --no-backup"
    )


def _needs_migration(agent_id):
    try:
        databases.get_alias(agent_id)
    except databases.UnknownAgent:  # its problem is reported elsewhere
        return False
    except databases.OldAgentFile:
        return True
    return False


@contextmanager
def _describe_failure(backup: UpgradeBackup | None, say: Callable[[str], object]) -> Iterator[None]:
    """Say how to go back when the block, which migrates, does not finish."""
    way_back = _describe_way_back(backup)
    try:
        yield
    except (DatabaseError, OSError) as exc:
        sentence = _("The databases were not updated: %(why)s.") % {"why": reasons.describe_error(exc).rstrip(".")}
        raise FailedUpdate(f"{sentence} {way_back}".rstrip()) from exc
    except BaseException:
        if way_back:
            say(way_back)
        raise


def _describe_way_back(backup):
    if backup is None:
        return ""
    return _(
        "The backup created before is %(path)s. Start again when this is solved, or return to the version used "
        "before: install it, and run openclaw-web backup restore %(path)s --replace"
    ) % {"path": backup.path}
