"""Sources that an import found and did not read, with the reason.

All rows of an agent in `collector_skipped` are replaced together.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from openclaw_web.clock import now_ms

from .models import SkippedSource
from .sources import get_file_state

Kind, Reason = SkippedSource.Kind, SkippedSource.Reason
BATCH = 500
MAX_DETAIL = 500


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """A source that was not read.

    `path` is its name in the source book; for an index entry, its session key.
    """

    kind: str
    path: str
    reason: str
    detail: str = ""
    session_id: str = ""
    stat: os.stat_result | None = None


def replace_skipped(root: Path, agent_id: str, skipped: Iterable[SkippedItem]) -> None:
    """Replace all noted sources of an agent by `skipped`.

    Equal rows are not written again.
    """
    rows = {row.source_key: row for row in (_build_row(root, agent_id, item) for item in skipped)}
    own = SkippedSource.objects.filter(root=str(root), agent_id=agent_id)
    known = {row.source_key: row for row in own.iterator(BATCH)}
    removed = [key for key in known if key not in rows]
    changed = [row for key, row in rows.items() if key not in known or not _is_same(row, known[key])]
    if not removed and not changed:
        return
    columns = [field.name for field in SkippedSource._meta.concrete_fields if not field.primary_key]
    with transaction.atomic():
        for start in range(0, len(removed), BATCH):
            SkippedSource.objects.filter(source_key__in=removed[start : start + BATCH]).delete()
        SkippedSource.objects.bulk_create(
            changed, batch_size=BATCH, update_conflicts=True, unique_fields=["source_key"], update_fields=columns
        )


def find_skipped(root: Path, agent_id: str) -> list[SkippedSource]:
    """Return all sources that the last import of an agent did not read."""
    return list(SkippedSource.objects.filter(root=str(root), agent_id=agent_id).order_by("path"))


def is_unchanged(row: SkippedSource, stat: os.stat_result) -> bool:
    """Return whether a file is as it was when it was noted."""
    return (row.inode, row.size_bytes, row.mtime_ns) == get_file_state(stat)


def _build_row(root, agent_id, item):
    inode, size, mtime = get_file_state(item.stat) if item.stat else (0, 0, 0)
    # Agents may share a folder, and have index entries of the same key.
    return SkippedSource(
        source_key=hashlib.sha256(f"{root}\0{item.kind}\0{agent_id}\0{item.path}".encode()).hexdigest(),
        kind=item.kind,
        root=str(root),
        agent_id=agent_id,
        path=item.path,
        session_id=item.session_id,
        reason=item.reason,
        detail=item.detail[:MAX_DETAIL],
        size_bytes=size,
        mtime_ns=mtime,
        inode=inode,
        noted_at=now_ms(),
    )


def _is_same(row, known):
    return all(
        getattr(row, field.attname) == getattr(known, field.attname)
        for field in SkippedSource._meta.concrete_fields
        if field.name != "noted_at"
    )
