"""Stores steps of runs, the memory index and files from an agent's database."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from django.db import transaction

from artifacts import services as artifacts
from artifacts.services import Place, StashBatch

from ..collectors import trajectories
from ..collectors.database_extras import DatabaseFile, MemoryIndexFile
from ..collectors.trajectories import Step
from ..models import IndexedFile, TrajectoryEvent, VfsEntry

SYSTEM_PROMPT, TOOL_SCHEMAS = "system_prompt", "tool_schemas"
ARTIFACT_KINDS = {"vfs_entries": "vfs_file", "tool_artifacts": "tool_artifact", "run_artifacts": "run_artifact"}
ROWS = 500


def store_steps(db: str, steps: Iterable[Step], *, root: Path | None = None) -> tuple[int, int]:
    """Add steps of runs; steps that are stored already stay.

    System prompts and tool schemas become artifacts of the session, with their contents in the folder `root`, or in the
    store of this home. Returns how many steps there were, and how many of them do not hold everything that the model
    was given.
    """
    count = cut = 0
    handles: dict[tuple[str, str, bytes], str] = {}  # of prompts among ROWS steps, most of which repeat them
    with artifacts.open_stash_batch(db, root=root) as batch, transaction.atomic(using=db):
        rows = []
        for step in steps:
            if step.session_id and step.type:
                rows.append(_build_step(batch, step, handles))
                count += 1
                cut += step.is_cut
            if len(rows) >= ROWS:
                _insert_steps(db, rows)
                handles.clear()
        batch.save()
        _insert_steps(db, rows)
    return count, cut


def store_prompt(
    db: str, session_id: str | None, kind: str, content: bytes, meta: dict[str, str], at: int | None = None
) -> None:
    """Store a system prompt or tool schemas of an exported bundle as an artifact.

    It belongs to the bundle's session; `at` is its time (ms).
    """
    with artifacts.open_stash_batch(db) as batch:
        batch.add(content, kind=kind, meta=meta, place=Place(session_id=session_id), at=at)


def store_indexed_files(db: str, database: str, files: Iterable[MemoryIndexFile]) -> int:
    """Replace the stored list of a memory index; return how many files it has."""
    rows = [
        IndexedFile(
            database=database,
            source=file.source,
            path=file.path,
            size_bytes=file.size,
            modified_at=file.modified_at,
            chunk_count=file.chunks,
        )
        for file in files
    ]
    with transaction.atomic(using=db):
        IndexedFile.objects.using(db).filter(database=database).delete()
        IndexedFile.objects.using(db).bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
    return len(rows)


def store_database_files(
    db: str, contents: Iterable[DatabaseFile], *, is_secret: Iterable[str] = (), root: Path | None = None
) -> int:
    """Store files of a database as artifacts, and its VFS listing; return their number.

    A file with a name in `is_secret` is listed, and its content is not stored. `root` as in `store_steps`.
    """
    names, count, listed = frozenset(is_secret), 0, []
    with artifacts.open_stash_batch(db, root=root) as batch, transaction.atomic(using=db):
        for file in contents:
            is_kept = file.data is not None and not names.intersection(file.path.split("/"))
            handle = _stash_content(batch, file) if is_kept else None
            count += handle is not None
            if file.table == "vfs_entries":
                listed.append(_build_entry(file, handle))
        batch.save()
        VfsEntry.objects.using(db).all().delete()
        VfsEntry.objects.using(db).bulk_create(listed, batch_size=ROWS, ignore_conflicts=True)
    return count


def _build_step(batch: StashBatch, step: Step, handles: dict[tuple[str, str, bytes], str]) -> TrajectoryEvent:
    prompts = {"systemPrompt": (SYSTEM_PROMPT, step.prompt)}
    prompts["tools"] = TOOL_SCHEMAS, trajectories.tools_to_json(step.tools) if step.tools else None
    for name, (kind, content) in prompts.items():
        if content:
            data = content.encode(errors="replace") if isinstance(content, str) else content
            key = step.session_id, kind, hashlib.sha256(data).digest()
            if key not in handles:
                place = Place(session_id=step.session_id)
                handles[key] = batch.add(content, kind=kind, place=place, at=step.created_at)[0].handle
            step.about[name] = handles[key]
    return TrajectoryEvent(
        id=step.id,
        session_id=step.session_id,
        seq=step.seq,
        run_id=step.run_id,
        type=step.type,
        created_at=step.created_at or 0,  # lists go by it
        about=step.about,
    )


def _insert_steps(db: str, rows: list[TrajectoryEvent]) -> None:
    TrajectoryEvent.objects.using(db).bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
    rows.clear()


def _stash_content(batch: StashBatch, file: DatabaseFile) -> str:
    meta = {"table": file.table, "place": file.place[:500], "path": file.path[:1000], "kind": file.kind[:100]}
    return batch.add(file.data or b"", kind=ARTIFACT_KINDS[file.table], meta=meta, at=file.created_at)[0].handle


def _build_entry(file: DatabaseFile, handle: str | None) -> VfsEntry:
    return VfsEntry(
        namespace=file.place,
        path=file.path,
        kind=file.kind,
        bytes=file.size,
        handle=handle,
        updated_at=file.created_at,
    )
