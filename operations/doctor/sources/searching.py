"""Backups that still hold what no source does: opened one after the other, the newest first."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import holdings
from openclaw_web.disk import room
from openclaw_web.disk.drafts import draft_of
from openclaw_web.errors import Refused
from openclaw_web.sqlite import snapshots

from ...backups import opening, verifying
from ...models import BackupRun
from ..store.losses import IDS, Loss

MOST, OPENED = 10, 200  # databases of one agent that are unpacked, and backups that are opened for that


def find(losses: list[Loss], progress: Any, *, own: str) -> None:
    """Write into `where` of each loss the newest backup that holds its session with at least as many records.

    `own` is the backup that was made of the damaged store. Databases are unpacked beside their backup, one at a time.
    """
    unpacked: dict[str, set[str]] = defaultdict(set)
    for path in [Path(own), *paths(but=own)]:
        wanted = [loss for loss in losses if not loss.where and loss.missing]
        if not wanted:
            return
        progress.update(0, None, _("Searching the backup %(path)s") % {"path": path.name})
        by_agent = defaultdict(list)
        for loss in wanted:
            by_agent[loss.agent].append(loss)
        for agent_id, held in _held(path, by_agent, unpacked, is_own=path == Path(own)):
            for loss in by_agent[agent_id]:
                if held[loss.session_id][loss.kind] >= loss.noted:
                    loss.where = str(path)


def paths(*, but: str = "") -> list[Path]:
    """The backups that are where they were written, the newest first."""
    usable = BackupRun.objects.filter(status__in=BackupRun.USABLE).exclude(archive_path__in=("", but))
    rows = usable.order_by("-created_at", "-id").values_list("archive_path", flat=True)
    return [path for path in map(Path, rows[:OPENED]) if path.is_file()]


def _held(path: Path, agents, unpacked, *, is_own) -> Iterator[tuple[str, dict[str, Counter[str]]]]:
    """(agent, session -> kind -> records) of these agents in a backup; one that cannot be read holds nothing.

    A database that is one of those looked into is passed over: each run of `--fix` backs up the same loss.
    """
    try:
        with opening.opened(path) as archive:
            for entry in archive.manifest.databases:
                known = unpacked[entry.agent or ""]
                if entry.agent not in agents or entry.sha256 in known or len(known) > MOST:
                    continue
                known.add(entry.sha256)
                if not is_own:
                    yield entry.agent, _counted(path, archive, entry, agents[entry.agent])
    except (Refused, OSError, DatabaseError):  # the next one may be whole
        return


def _counted(path, archive, entry, lost):
    held: dict[str, Counter[str]] = defaultdict(Counter)
    room.check(path.parent, entry.bytes)
    with draft_of(path.parent / "looking") as folder:
        file = folder / entry.path
        verifying.write(file, archive.database(entry))
        verifying.look_at(file, entry.path)
        for session_id, kind, count in snapshots.kinds(file):
            held[session_id][kind] = count
        for loss in lost:
            noted = holdings.holding_of(loss.agent, loss.session_id)
            if loss.kind == IDS and holdings.checksum_of(snapshots.ids(file, loss.session_id)) == noted.checksum:
                held[loss.session_id][IDS] = loss.noted
    return held


def command(path: str | Path) -> str:
    """How to have a backup back in a home that is there."""
    return f"openclaw-web backup restore {path} --replace"


def as_json(losses: list[Loss]) -> list[dict[str, Any]]:
    """Each backup that was found, with what it holds of these losses and the command that puts it back."""
    found: dict[str, list[Loss]] = defaultdict(list)
    for loss in losses:
        if loss.where:
            found[loss.where].append(loss)
    return [
        {
            "path": path,
            "command": command(path),
            "agents": sorted({loss.agent for loss in some}),
            "records": sum(loss.missing for loss in some),
        }
        for path, some in found.items()
    ]
