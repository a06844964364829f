"""Removing contents that nobody refers to any more. When in doubt, it removes nothing."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web.errors import Refused

from . import handles, inventory, layout, locks
from .errors import Damaged
from .models import Artifact

GC_SCHEMA = "openclaw-mem.artifact.gc.v1"
REMOVERS = 8
BATCH = 5_000  # contents that are looked at again, and removed, while others wait to adopt


@dataclass(slots=True)
class Collected:
    """What a collection did, or would do."""

    is_dry_run: bool
    kept: int = 0
    young: int = 0  # nobody refers to them, but they are not old enough
    removed: int = 0
    removed_bytes: int = 0  # on disk
    drafts: int = 0

    def as_receipt(self) -> dict:
        """Sums only: a receipt of what was removed names no content."""
        return {
            "schema": GC_SCHEMA,
            "dryRun": self.is_dry_run,
            "kept": self.kept,
            "young": self.young,
            "removed": self.removed,
            "removedBytes": self.removed_bytes,
            "draftsRemoved": self.drafts,
        }


def collect(
    *, older_than: float = 0, is_dry_run: bool = False, also_kept: Callable[[list[str]], Iterable[str]] | None = None
) -> Collected:
    """Remove every content that no agent refers to and that was stashed more than `older_than` seconds ago.

    `also_kept(handles)` names those of these handles that something else refers to. Raises Refused when an agent's file
    cannot be read: what it refers to is not known then, and nothing is removed.
    """
    root, result = layout.root(), Collected(is_dry_run)
    referred = {handle[-64:] for db in _agents() for handle in _referred(db)}
    before = time.time() - older_than
    waiting: dict[str, int] = {}
    for sha256, paths in inventory.stored(root):
        if sha256 in referred:
            result.kept += 1
            continue
        size, changed_at = inventory.size_and_time(paths)
        if changed_at > before:
            result.young += 1
        else:
            waiting[sha256] = size
        if len(waiting) == BATCH:
            _remove(root, waiting, also_kept, result)
            waiting = {}
    _remove(root, waiting, also_kept, result)
    if not is_dry_run:
        result.drafts = _remove_drafts(root)
    return result


def referred_among(db: str, wanted: list[str]) -> set[str]:
    """Those of these handles that the agent whose file is `db` refers to."""
    with _reading(db):
        return set(Artifact.objects.using(db).filter(handle__in=wanted).values_list("handle", flat=True))


def _agents():
    """The alias of every agent there is a file or a row for; Refused when one cannot be read."""
    files = (settings.HOME_DIR / "agents").glob("*/agent/openclaw-agent.sqlite")
    names = {file.parts[-3] for file in files} | set(Agent.objects.values_list("agent_id", flat=True))
    try:
        return [databases.alias(name) for name in sorted(names)]
    except (databases.UnknownAgent, databases.OldAgentFile) as exc:
        raise _unknown(exc) from exc


def _referred(db):
    with _reading(db):
        yield from Artifact.objects.using(db).values_list("handle", flat=True).distinct().iterator(5_000)


@contextmanager
def _reading(db):
    """Hundreds of agents are read one after the other: what was opened for one is closed again."""
    was_open = connections[db].connection is not None
    try:
        yield
    except DatabaseError as exc:
        raise _unknown(exc) from exc
    finally:
        if not was_open:
            connections[db].close()


def _unknown(exc):
    return Refused(
        _("Nothing was removed: the file of an agent cannot be read, and what it refers to is not known. %(reason)s")
        % {"reason": exc}
    )


def _remove(root, waiting, also_kept, result):
    """Remove contents that are still nobody's: from here on nobody can adopt one until it is gone."""
    if not waiting:
        return
    with locks.clearing(root):
        wanted = [handles.of(sha256) for sha256 in waiting]
        kept = {handle for db in _agents() for handle in referred_among(db, wanted)}
        kept |= set(also_kept(wanted)) if also_kept else set()
        unwanted = [sha256 for sha256 in waiting if handles.of(sha256) not in kept]
        if not result.is_dry_run:
            with ThreadPoolExecutor(REMOVERS) as pool:  # each mostly waits for the file system
                parts = pool.map(partial(_remove_files, root), [unwanted[n::REMOVERS] for n in range(REMOVERS)])
                unwanted = [sha256 for part in parts for sha256 in part]
    result.kept += len(waiting) - len(unwanted)
    result.removed += len(unwanted)
    result.removed_bytes += sum(waiting[sha256] for sha256 in unwanted)


def _remove_files(root, unwanted):
    """Remove contents; those of them that are gone. Nothing is touched behind a folder that is a link."""
    gone = []
    for sha256 in unwanted:
        # The blob last: a death in between leaves a content without metadata, which can be read and adopted.
        names = (sha256 + layout.GZIPPED, sha256 + layout.PLAIN)
        with suppress(Damaged):
            layout.remove(root, (layout.META, *layout.parts(sha256)), f"{sha256}.json")
            layout.remove(root, (layout.BLOBS, *layout.parts(sha256)), *names)
            gone.append(sha256)
    return gone


def _remove_drafts(root):
    """Remove what writers that died left behind: while nobody adopts, every draft is one of those."""
    with locks.clearing(root):
        drafts = [path for path in (root / layout.DRAFTS).iterdir() if path.is_file() or path.is_symlink()]
        for path in drafts:
            path.unlink()
    return len(drafts)
