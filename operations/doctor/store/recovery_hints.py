"""Where rows of an agent that are lost can be had again: in a backup, if there is one. Nothing is promised of it."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.sqlite import database_copies
from openclaw_web.sqlite.integrity import LostRows

from ..sources import backup_search


def describe_newest_backup() -> str:
    """A sentence about the newest backup, as far as there is any: what it can do about a finding."""
    paths = backup_search.find_backup_paths()
    if not paths:
        return _none()
    words = {"path": paths[0], "command": backup_search.build_restore_command(paths[0])}
    return _("The backup %(path)s may contain what is right: %(command)s") % words


def describe_holding_backups(agent_id: str, wanted: Mapping[str, LostRows], *, is_deep: bool) -> dict[str, str]:
    """By check, a sentence about the backup that holds all that is missing; `is_deep` opens backups to find it."""
    if not backup_search.find_backup_paths():
        return dict.fromkeys(wanted, _none())
    if not is_deep:
        return dict.fromkeys(wanted, _("openclaw-web doctor --deep searches the backups."))
    found: dict[str, str] = {}
    seen: backup_search.SearchedHashes = defaultdict(set)
    for path in backup_search.find_backup_paths():
        for _agent, checks in backup_search.read_databases(path, [agent_id], seen, partial(_holders, wanted)):
            found = dict.fromkeys(checks, _of_holder(path)) | found
        if len(found) == len(wanted):
            break
    return dict.fromkeys(wanted, _("No backup that was searched contains all of it.")) | found


def _holders(wanted, _agent_id, file):
    """The checks of which a database of a backup has all that is missing."""
    return [check for check, lost in wanted.items() if lost.missing <= _named(file, lost)]


def _named(file: Path, lost: LostRows) -> set[str | None]:
    values = database_copies.read_values(file, lost.table, lost.column)
    return {name for value in values if value for name in lost.names(value)}


def _none():
    return _("No backup exists.")


def _of_holder(path):
    return _("The backup %(path)s contains it: %(command)s") % {
        "path": path,
        "command": backup_search.build_restore_command(path),
    }
