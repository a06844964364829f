"""Searches backups for lost records, newest backup first."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import holdings
from openclaw_web.disk import room
from openclaw_web.disk.drafts import create_draft
from openclaw_web.errors import Refused
from openclaw_web.sqlite import database_copies

from ...backups import backup_reader, verification
from ...models import BackupRun
from ..store.losses import IDS, Loss

T = TypeVar("T")
SearchedHashes = dict[str, set[str]]  # agent -> hashes of its databases that were searched
MOST, OPENED = 10, 200  # maximum of unpacked databases of one agent, and of opened backups


def find_backups(losses: list[Loss], progress: Any, *, own: str) -> None:
    """Set `where` of each loss to the newest backup that contains all its records.

    `own` is the backup of the damaged store. Databases are unpacked beside their backup, one at a time.
    """
    seen: SearchedHashes = defaultdict(set)
    for path in [Path(own), *find_backup_paths(but=own)]:
        open_losses = [loss for loss in losses if not loss.where and loss.missing]
        if not open_losses:
            return
        progress.update(0, None, _("Searching the backup %(path)s") % {"path": path.name})
        agents, read = {loss.agent for loss in open_losses}, partial(_count_records, open_losses)
        for agent_id, held in read_databases(path, agents, seen, read, most=MOST + 1, own=own):
            for loss in open_losses:
                if loss.agent == agent_id and held[loss.session_id][loss.kind] >= loss.noted:
                    loss.where = str(path)


def find_backup_paths(*, but: str = "") -> list[Path]:
    """The paths of the backups that still exist, newest first."""
    usable = BackupRun.objects.filter(status__in=BackupRun.USABLE).exclude(archive_path__in=("", but))
    rows = usable.order_by("-created_at", "-id").values_list("archive_path", flat=True)
    return [path for path in map(Path, rows[:OPENED]) if path.is_file()]


def read_databases(
    path: Path,
    agents: Collection[str],
    seen: SearchedHashes,
    read: Callable[[str, Path], T],
    *,
    most: int = MOST,
    own: str = "",
) -> Iterator[tuple[str, T]]:
    """Yield (agent, result of `read(agent, file)`) for databases of these agents in a backup.

    Each database is unpacked beside the backup. One that cannot be read is skipped. A database that is among the `most`
    in `seen` is skipped too: each run of `--fix` backs up the same loss, and the databases of the backup `own` are only
    noted.
    """
    try:
        with backup_reader.open_backup(path) as archive:
            for entry in archive.manifest.databases:
                known = seen[entry.agent or ""]
                if entry.agent not in agents or entry.sha256 in known or len(known) >= most:
                    continue
                known.add(entry.sha256)
                if path == Path(own):
                    continue
                room.check(path.parent, entry.bytes)
                with create_draft(path.parent / "looking") as folder:
                    file = folder / entry.path
                    verification.write_file(file, archive.database(entry))
                    verification.inspect_database(file, entry.path)
                    answer = read(entry.agent, file)
                yield entry.agent, answer
    except (Refused, OSError, DatabaseError):  # the next backup may be intact
        return


def _count_records(losses, agent_id, file):
    """Session -> kind -> records in a database of a backup."""
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for session_id, kind, count in database_copies.read_kind_counts(file):
        held[session_id][kind] = count
    for loss in losses:
        if loss.kind == IDS and loss.agent == agent_id:
            noted = holdings.read_holding(agent_id, loss.session_id)
            if holdings.compute_checksum(database_copies.read_record_ids(file, loss.session_id)) == noted.checksum:
                held[loss.session_id][IDS] = loss.noted
    return held


def build_restore_command(path: str | Path) -> str:
    """The command that restores a backup into an existing home."""
    return f"openclaw-web backup restore {path} --replace"


def as_json(losses: list[Loss]) -> list[dict[str, Any]]:
    """The backups with lost records: how many each contains, and the command to restore it."""
    losses_by_path: dict[str, list[Loss]] = defaultdict(list)
    for loss in losses:
        if loss.where:
            losses_by_path[loss.where].append(loss)
    return [
        {
            "path": path,
            "command": build_restore_command(path),
            "agents": sorted({loss.agent for loss in path_losses}),
            "records": sum(loss.missing for loss in path_losses),
        }
        for path, path_losses in losses_by_path.items()
    ]
