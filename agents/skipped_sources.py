"""What an import found and did not read, with the reason: the rows of `collector_skipped`, written whole by agent."""

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
    """One thing that was not read; `path` is its name in the book of sources, of an index entry its session key."""

    kind: str
    path: str
    reason: str
    detail: str = ""
    session_id: str = ""
    stat: os.stat_result | None = None


def skipped_key(root: Path | str, kind: str, agent_id: str, path: str) -> str:
    """The key of a row: agents may share a folder, and have index entries of the same key."""
    return hashlib.sha256(f"{root}\0{kind}\0{agent_id}\0{path}".encode()).hexdigest()


def replace_skipped(root: Path, agent_id: str, skipped: Iterable[SkippedItem]) -> None:
    """Make `skipped` all that is noted of an agent; rows that stay as they are are not written again."""
    rows = {row.source_key: row for row in (_row(root, agent_id, each) for each in skipped)}
    own = SkippedSource.objects.filter(root=str(root), agent_id=agent_id)
    known = {row.source_key: row for row in own.iterator(BATCH)}
    gone = [key for key in known if key not in rows]
    changed = [row for key, row in rows.items() if key not in known or not _is_same(row, known[key])]
    if not gone and not changed:
        return
    columns = [field.name for field in SkippedSource._meta.concrete_fields if not field.primary_key]
    with transaction.atomic():
        for start in range(0, len(gone), BATCH):
            SkippedSource.objects.filter(source_key__in=gone[start : start + BATCH]).delete()
        SkippedSource.objects.bulk_create(
            changed, batch_size=BATCH, update_conflicts=True, unique_fields=["source_key"], update_fields=columns
        )


def find_skipped(root: Path, agent_id: str) -> list[SkippedSource]:
    """All that the last import of an agent did not read."""
    return list(SkippedSource.objects.filter(root=str(root), agent_id=agent_id).order_by("path"))


def is_unchanged(row: SkippedSource, stat: os.stat_result) -> bool:
    """Whether the file is as it was when it was noted."""
    return (row.inode, row.size_bytes, row.mtime_ns) == get_file_state(stat)


def _row(root, agent_id, each):
    inode, size, mtime = get_file_state(each.stat) if each.stat else (0, 0, 0)
    return SkippedSource(
        source_key=skipped_key(root, each.kind, agent_id, each.path),
        kind=each.kind,
        root=str(root),
        agent_id=agent_id,
        path=each.path,
        session_id=each.session_id,
        reason=each.reason,
        detail=each.detail[:MAX_DETAIL],
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
