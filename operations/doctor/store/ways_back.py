"""Where rows of an agent that are lost can be had again: in a backup, if there is one. Nothing is promised of it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from django.db import DatabaseError
from django.utils.translation import gettext as _

from openclaw_web.disk import room
from openclaw_web.disk.drafts import draft_of
from openclaw_web.errors import Refused
from openclaw_web.sqlite import snapshots
from openclaw_web.sqlite.integrity import Lost

from ...backups import opening, verifying
from ..findings import Finding
from ..sources import searching


def told(finding: Finding) -> Finding:
    """A finding that ends with what a backup can do about it: the newest one is named, as far as there is any."""
    paths = searching.paths()
    return replace(finding, sentence=f"{finding.sentence} {_of_newest(paths[0]) if paths else _none()}")


def of_lost(agent_id: str, wanted: Mapping[str, Lost], *, is_deep: bool) -> dict[str, str]:
    """By check, a sentence about the backup that holds all that is missing; `is_deep` opens backups to find it."""
    if not searching.paths():
        return dict.fromkeys(wanted, _none())
    if not is_deep:
        return dict.fromkeys(wanted, _("openclaw-web doctor --deep searches the backups."))
    found: dict[str, str] = {}
    for path, file in _unpacked(agent_id):
        for check, lost in wanted.items():
            if check not in found and lost.missing <= _named(file, lost):
                found[check] = _of_holder(path)
        if len(found) == len(wanted):
            break
    return dict.fromkeys(wanted, _("No backup that was searched contains all of it.")) | found


def _named(file: Path, lost: Lost) -> set[str | None]:
    values = snapshots.values(file, lost.table, lost.column)
    return {name for value in values if value for name in lost.names(value)}


def _unpacked(agent_id) -> Iterator[tuple[Path, Path]]:
    """Each different database of an agent in a backup, unpacked beside it for as long as it is looked at."""
    seen: set[str] = set()
    for path in searching.paths():
        try:
            with opening.opened(path) as archive:
                for entry in archive.manifest.databases:
                    if entry.agent != agent_id or entry.sha256 in seen or len(seen) >= searching.MOST:
                        continue
                    seen.add(entry.sha256)
                    room.check(path.parent, entry.bytes)
                    with draft_of(path.parent / "looking") as folder:
                        file = folder / entry.path
                        verifying.write(file, archive.database(entry))
                        verifying.look_at(file, entry.path)
                        yield path, file
        except (Refused, OSError, DatabaseError):  # the next one may be whole
            continue


def _none():
    return _("No backup exists.")


def _of_newest(path):
    words = {"path": path, "command": searching.command(path)}
    return _("The backup %(path)s may contain what is right: %(command)s") % words


def _of_holder(path):
    return _("The backup %(path)s contains it: %(command)s") % {"path": path, "command": searching.command(path)}
