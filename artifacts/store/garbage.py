"""Removes contents that nobody refers to any more.

When in doubt, it removes nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web.errors import Refused
from openclaw_web.sqlite import damaged_files

from .. import handles
from ..models import Artifact
from . import inventory, layout, locks

GC_SCHEMA = "openclaw-mem.artifact.gc.v1"
REMOVERS = 8
BATCH = 5_000  # contents that are checked again, and removed, while others wait to adopt


class _Files(NamedTuple):
    """The files of a content: their bytes on disk, and their names."""

    size: int
    names: tuple[str, ...]


@dataclass(slots=True)
class GarbageResult:
    """The result of a collection, or of a dry run."""

    is_dry_run: bool
    kept_count: int = 0
    young: int = 0  # nobody refers to them, but they are not old enough
    removed: int = 0
    removed_bytes: int = 0  # on disk
    drafts: int = 0

    def as_receipt(self) -> dict:
        """The sums; a receipt of what was removed names no content."""
        return {
            "schema": GC_SCHEMA,
            "dryRun": self.is_dry_run,
            "kept": self.kept_count,
            "young": self.young,
            "removed": self.removed,
            "removedBytes": self.removed_bytes,
            "draftsRemoved": self.drafts,
        }


def collect(
    result: GarbageResult,
    *,
    older_than: float = 0,
    also_kept: Callable[[list[str]], Iterable[str]] | None = None,
) -> None:
    """Remove every content that no agent refers to and that is old enough.

    It must have been stashed more than `older_than` seconds ago. `result` counts the contents while they are removed,
    so that an interrupted caller knows how many are gone; of a dry run, it counts those that would be removed.

    `also_kept(handles)` names those of these handles that something else refers to: it is called once for all contents
    that may be removed, while others work on, and once more for each batch just before it is removed, while nobody
    adopts. Raises Refused when an agent's file cannot be read: its references are not known then, and nothing is
    removed.
    """
    root = layout.get_root()
    waiting = _find_unreferred(root, time.time() - older_than, result)
    if waiting and also_kept:
        result.kept_count += _take_out_kept(waiting, also_kept([handles.from_sha256(sha256) for sha256 in waiting]))
    if result.is_dry_run:
        _count_removed(result, waiting.values())
        return
    todo = iter(waiting.items())
    while batch := dict(islice(todo, BATCH)):
        _remove_batch(root, batch, also_kept, result)
    result.drafts = _remove_drafts(root)


def referred_among(db: str, candidates: list[str]) -> set[str]:
    """Those of the candidates (handles) that the agent whose file is `db` refers to."""
    with open_temporarily(db):
        return set(Artifact.objects.using(db).filter(handle__in=candidates).values_list("handle", flat=True))


def list_agent_aliases() -> list[str]:
    """The aliases of all agents with a file or a row.

    Raises Refused for a file that cannot be read, or that was damaged and moved aside.
    """
    kept_paths = damaged_files.find_kept(settings.HOME_DIR, databases.FILES)
    for path in (path for path in kept_paths if not damaged_files.is_blank(path)):
        sentence = _(
            "Nothing was removed: %(path)s is damaged, and the contents that it refers to are not known. When you do "
            "not need this file any more, move it out of the home."
        )
        raise Refused(sentence % {"path": path})
    files = settings.HOME_DIR.glob(databases.FILES)
    names = {file.parts[-3] for file in files} | set(Agent.objects.values_list("agent_id", flat=True))
    try:
        return [databases.get_alias(name) for name in sorted(names)]
    except databases.UnusableAgent as exc:
        raise _build_refusal(exc) from exc


def _read_referred(db):
    with open_temporarily(db):
        yield from Artifact.objects.using(db).values_list("handle", flat=True).distinct().iterator(5_000)


@contextmanager
def open_temporarily(db: str) -> Iterator[None]:
    """Close an agent's database afterwards, if it was not open before.

    Hundreds of agents are read one after the other.
    """
    was_open = connections[db].connection is not None
    try:
        yield
    except DatabaseError as exc:
        raise _build_refusal(exc) from exc
    finally:
        if not was_open:
            connections[db].close()


def _build_refusal(exc):
    return Refused(
        _("Nothing was removed: the database of an agent cannot be read, so its references are unknown. %(reason)s")
        % {"reason": exc}
    )


def _find_unreferred(root, before, result):
    """Contents that may be removed, by hash.

    No agent refers to them, and they are older than `before`.
    """
    referred = {handle[-64:] for db in list_agent_aliases() for handle in _read_referred(db)}
    removable: dict[str, _Files] = {}
    for sha256, paths in inventory.list_contents(root):
        if sha256 in referred:
            result.kept_count += 1
            continue
        size, changed_at = inventory.read_size_and_time(paths)
        if changed_at > before:
            result.young += 1
        else:
            removable[sha256] = _Files(size, tuple(path.rpartition("/")[2] for path in paths))
    return removable


def _take_out_kept(waiting, kept_handles):
    """Take kept contents out of those that may be removed; returns their number."""
    return sum(waiting.pop(handle[-64:], None) is not None for handle in set(kept_handles))


def _remove_batch(root, waiting, also_kept, result):
    """Remove contents that are still unreferenced.

    Nobody can adopt one from here on, until it is gone.
    """
    with locks.hold_clearing_lock(root):
        candidates = [handles.from_sha256(sha256) for sha256 in waiting]
        kept_handles = {handle for db in list_agent_aliases() for handle in referred_among(db, candidates)}
        kept_handles |= set(also_kept(candidates)) if also_kept else set()
        result.kept_count += _take_out_kept(waiting, kept_handles)
        folders: dict[tuple[str, ...], list[str]] = {}
        for sha256 in waiting:
            folders.setdefault(layout.split_hash(sha256)[:-1], []).append(sha256)
        with ThreadPoolExecutor(REMOVERS) as pool:  # each mostly waits for the file system
            gone = pool.map(partial(_remove_files, root, waiting), folders, folders.values())
            removed = [waiting.pop(sha256) for part in gone for sha256 in part]
    _count_removed(result, removed)
    result.kept_count += len(waiting)  # behind a link, or not to be removed


def _remove_files(root, waiting, above, unwanted):
    """Remove contents whose hashes begin alike; returns those that are gone.

    No folder that is a link is followed.
    """
    stuck: set[str] = set()
    for kind in (layout.META, layout.BLOBS):
        # The blob last: a death in between leaves a content without metadata, which can be read and adopted.
        leaves: dict[str, list[str]] = {}
        for sha256 in unwanted:
            names = [name for name in waiting[sha256].names if name.endswith(".json") == (kind == layout.META)]
            if names and sha256 not in stuck:
                leaves.setdefault(sha256[2:4], []).extend(names)
        stuck |= {name[:64] for name in layout.remove_many(root, (kind, *above), leaves)}
    return [sha256 for sha256 in unwanted if sha256 not in stuck]


def _count_removed(result, removed):
    result.removed += len(removed)
    result.removed_bytes += sum(files.size for files in removed)


def _remove_drafts(root):
    """Remove the drafts of writers that died.

    While nobody adopts, every draft is one of those.
    """
    with locks.hold_clearing_lock(root):
        return layout.remove_drafts(root)
