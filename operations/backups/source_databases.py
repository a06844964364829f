"""Finds and copies the databases that a backup contains, and says why one cannot be."""

from collections.abc import Iterator
from pathlib import Path

from django.db import DatabaseError, OperationalError
from django.utils.translation import gettext as _

from agents import databases
from openclaw_web import reasons
from openclaw_web.disk import reserve
from openclaw_web.errors import Refused
from openclaw_web.sqlite import damaged_files, database_copies, failures

from . import backup_format


class UnusableAgentDatabase(Refused):
    """The database of an agent is missing, blank or damaged: an import can replace it."""

    def __init__(self, sentence: str, agent_id: str) -> None:
        super().__init__(sentence)
        self.agent_id = agent_id


def find_agent_databases(snapshot: Path, home: Path) -> Iterator[tuple[str, str, str]]:
    """The databases of all agents as (role, agent, path).

    Databases that the registry lost are included. Raises UnusableAgentDatabase when one that it names
    is missing or blank.
    """
    known = database_copies.read_agents(snapshot)
    paths = {path for _agent, path in known}
    for file in sorted(home.glob(databases.FILES)):
        path = file.relative_to(home).as_posix()
        match = backup_format.PATHS[backup_format.AGENT].fullmatch(path)
        if match and path not in paths:
            known.append((match[1], path))
    for agent, path in known:
        if not backup_format.PATHS[backup_format.AGENT].fullmatch(path) or not _is_file(home, path):
            sentence = _("The database of agent %(agent)s is not where it should be. No backup was created.")
            raise UnusableAgentDatabase(sentence % {"agent": agent}, agent)
        if path in paths and damaged_files.is_blank(home / path):
            raise _build_damage_refusal(path, damaged_files.describe_blank())
        yield backup_format.AGENT, agent, path


def copy_database(home: Path, path: str, snapshot: Path) -> None:
    """Copy the database `path` of a home to `snapshot`.

    Raises Refused when it is damaged or cannot be opened.
    """
    try:
        database_copies.copy_database(home / path, snapshot)
    except OperationalError as exc:
        # Callers have messages for a full disk and a busy database.
        if reserve.is_full(exc, snapshot.parent) or failures.is_locked(exc) or failures.is_of_disk(exc):
            raise
        raise _build_unread_refusal(path, exc) from exc
    except DatabaseError as exc:
        raise _build_damage_refusal(path, reasons.describe_error(exc)) from exc


def _is_file(home, path):
    try:
        return (home / path).is_file()
    except OSError as exc:  # a folder of another user
        raise _build_unread_refusal(path, exc) from exc


def _build_damage_refusal(path, why):
    sentence = _("%(path)s is damaged: %(why)s") % {"path": path, "why": f"{why}."}
    match = backup_format.PATHS[backup_format.AGENT].fullmatch(path)
    return UnusableAgentDatabase(sentence, match[1]) if match else Refused(sentence)


def _build_unread_refusal(path, exc):
    return Refused(_("%(file)s was not read: %(reason)s.") % {"file": path, "reason": reasons.describe_error(exc)})
