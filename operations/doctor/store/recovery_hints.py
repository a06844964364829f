"""Hints at backups that may contain lost rows of an agent."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.sqlite import database_copies
from openclaw_web.sqlite.integrity import LostRows

from ..sources import backup_search


def describe_newest_backup() -> str:
    """A sentence about the newest backup, if there is one."""
    paths = backup_search.find_backup_paths()
    if not paths:
        return _describe_no_backup()
    words = {"path": paths[0], "command": backup_search.build_restore_command(paths[0])}
    return _("The backup %(path)s may contain what is right: %(command)s") % words


def describe_holding_backups(agent_id: str, lost_rows: Mapping[str, LostRows], *, is_deep: bool) -> dict[str, str]:
    """Sentences by check about the backup with all lost rows; `is_deep` opens backups."""
    if not backup_search.find_backup_paths():
        return dict.fromkeys(lost_rows, _describe_no_backup())
    if not is_deep:
        return dict.fromkeys(lost_rows, _("openclaw-web doctor --deep searches the backups."))
    sentences: dict[str, str] = {}
    seen: backup_search.SearchedHashes = defaultdict(set)
    for path in backup_search.find_backup_paths():
        for _agent, checks in backup_search.read_databases(path, [agent_id], seen, partial(_find_checks, lost_rows)):
            words = {"path": path, "command": backup_search.build_restore_command(path)}
            sentence = _("The backup %(path)s contains it: %(command)s") % words
            sentences = dict.fromkeys(checks, sentence) | sentences
        if len(sentences) == len(lost_rows):
            break
    return dict.fromkeys(lost_rows, _("No backup that was searched contains all of it.")) | sentences


def _find_checks(lost_rows, _agent_id, file):
    """The checks whose lost rows a database of a backup contains completely."""
    return [check for check, lost in lost_rows.items() if lost.missing <= _read_names(file, lost)]


def _read_names(file: Path, lost: LostRows) -> set[str | None]:
    values = database_copies.read_values(file, lost.table, lost.column)
    return {name for value in values if value for name in lost.names(value)}


def _describe_no_backup():
    return _("No backup exists.")
