"""Writing down what a database holds around its transcripts."""

from collections.abc import Iterable

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


def store_steps(db: str, steps: Iterable[Step]) -> tuple[int, int]:
    """Add steps of runs; those that are there stay. System prompts and tool schemas become artifacts of the session.

    How many steps there were, and how many of them do not hold whole what a model was given.
    """
    count = cut = 0
    with artifacts.open_stash_batch(db) as batch, transaction.atomic(using=db):
        rows = []
        for step in steps:
            if step.session_id and step.type:
                rows.append(_row(batch, step))
                count += 1
                cut += step.is_cut
            if len(rows) >= ROWS:
                _insert(db, rows)
        batch.save()
        _insert(db, rows)
    return count, cut


def store_prompt(
    db: str, session_id: str | None, kind: str, content: bytes, meta: dict[str, str], at: int | None = None
) -> None:
    """Keep a system prompt or tool schemas of an exported bundle as an artifact of its session, of the time `at`."""
    with artifacts.open_stash_batch(db) as batch:
        batch.add(content, kind=kind, meta=meta, place=Place(session_id=session_id), at=at)


def store_indexed_files(db: str, database: str, files: Iterable[MemoryIndexFile]) -> int:
    """What a memory index holds now, instead of what it held; how many files."""
    rows = [
        IndexedFile(
            database=database,
            source=one.source,
            path=one.path,
            size_bytes=one.size,
            modified_at=one.modified_at,
            chunk_count=one.chunks,
        )
        for one in files
    ]
    with transaction.atomic(using=db):
        IndexedFile.objects.using(db).filter(database=database).delete()
        IndexedFile.objects.using(db).bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
    return len(rows)


def store_database_files(db: str, contents: Iterable[DatabaseFile], *, is_secret: Iterable[str] = ()) -> int:
    """Contents as artifacts, and the listing of the VFS as it is now; how many contents.

    A file with a name in `is_secret` is listed and its content left alone.
    """
    names, count, listed = frozenset(is_secret), 0, []
    with artifacts.open_stash_batch(db) as batch, transaction.atomic(using=db):
        for one in contents:
            is_kept = one.data is not None and not names.intersection(one.path.split("/"))
            handle = _stash(batch, one) if is_kept else None
            count += handle is not None
            if one.table == "vfs_entries":
                listed.append(_entry(one, handle))
        batch.save()
        VfsEntry.objects.using(db).all().delete()
        VfsEntry.objects.using(db).bulk_create(listed, batch_size=ROWS, ignore_conflicts=True)
    return count


def _row(batch: StashBatch, step: Step) -> TrajectoryEvent:
    place = Place(session_id=step.session_id)
    if step.prompt:
        step.about["systemPrompt"] = batch.add(step.prompt, kind=SYSTEM_PROMPT, place=place, at=step.created_at)[
            0
        ].handle
    if step.tools:
        content = trajectories.tools_to_json(step.tools)
        step.about["tools"] = batch.add(content, kind=TOOL_SCHEMAS, place=place, at=step.created_at)[0].handle
    return TrajectoryEvent(
        id=step.id,
        session_id=step.session_id,
        seq=step.seq,
        run_id=step.run_id,
        type=step.type,
        created_at=step.created_at or 0,  # lists go by it
        about=step.about,
    )


def _insert(db: str, rows: list[TrajectoryEvent]) -> None:
    TrajectoryEvent.objects.using(db).bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
    rows.clear()


def _stash(batch: StashBatch, one: DatabaseFile) -> str:
    meta = {"table": one.table, "place": one.place[:500], "path": one.path[:1000], "kind": one.kind[:100]}
    return batch.add(one.data or b"", kind=ARTIFACT_KINDS[one.table], meta=meta, at=one.created_at)[0].handle


def _entry(one: DatabaseFile, handle: str | None) -> VfsEntry:
    return VfsEntry(
        namespace=one.place,
        path=one.path,
        kind=one.kind,
        bytes=one.size,
        handle=handle,
        updated_at=one.created_at,
    )
