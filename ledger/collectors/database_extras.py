"""Reads steps of runs, indexed memory and files from an agent's database.

No Django.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .agent_database import IS_VALID_SEQ, SEQ_LIMIT, decode_text
from .database import MAX_VALUE, Database
from .jsonl import Line, parse_line
from .records import parse_moment_ms
from .session_index import SESSION_ID
from .trajectories import Step, read_steps

MAX_PATH = 4_000


@dataclass(slots=True)
class MemoryIndexFile:
    """A file of the memory index, and its number of chunks."""

    path: str
    source: str
    size: int | None
    modified_at: int | None
    chunks: int


@dataclass(slots=True)
class DatabaseFile:
    """A file in the database: a VFS entry, or an artifact of a run.

    A tool leaves such artifacts as well. `data` is None for a folder, or for a file that is too big.
    """

    table: str
    place: str  # namespace or run
    path: str
    kind: str
    size: int | None
    created_at: int | None
    data: bytes | None


def read_last_step_seqs(database: Database) -> dict[str, int]:
    """Session -> the highest `seq` of its steps.

    Sessions that no page could name are left out.
    """
    if not database.has("trajectory_runtime_events", "session_id", "seq", "event_json"):
        return {}
    sql = f"SELECT session_id, max(seq) FROM trajectory_runtime_events WHERE {IS_VALID_SEQ} GROUP BY session_id"  # noqa: S608 - a constant
    return {
        decode_text(session): last for session, last in database.ask(sql) if SESSION_ID.fullmatch(decode_text(session))
    }


def read_session_steps(database: Database, session_id: str, start: int) -> Iterator[Step]:
    """The steps of a session from `seq` `start` on."""
    where, values = "session_id = ? AND seq >= ? AND seq < ?", (session_id, start, SEQ_LIMIT)
    rows = database.rows("trajectory_runtime_events", "seq", "event_json", where=where, values=values, order="seq")
    lines = (
        parse_line(Line(seq, seq + 1, raw)) for seq, raw in rows if isinstance(seq, int) and isinstance(raw, bytes)
    )
    return read_steps(lines, session_id=session_id)


def read_indexed_files(database: Database) -> Iterator[MemoryIndexFile]:
    """The files of a memory index, of either layout."""
    for files, chunks in (("memory_index_sources", "memory_index_chunks"), ("files", "chunks")):
        counts = {}
        if database.has(chunks, "path", "source"):
            sql = f"SELECT path, source, count(*) FROM {chunks} GROUP BY path, source"  # noqa: S608 - one of two names
            counts = {(path, source): count for path, source, count in database.ask(sql)}
        for path, source, modified, size in database.rows(files, "path", "source", "mtime", "size"):
            if name := decode_text(path)[:MAX_PATH]:
                pieces = counts.get((path, source), 0)
                yield MemoryIndexFile(name, decode_text(source), _valid_size(size), parse_moment_ms(modified), pieces)


def read_database_files(database: Database) -> Iterator[DatabaseFile]:
    """All files in the database. Raises DamagedDatabase when a page cannot be read."""
    yield from _read_table_files(database, "vfs_entries", "namespace", "path", "content_blob", "updated_at")
    yield from _read_table_files(database, "tool_artifacts", "run_id", "artifact_id", "blob", "created_at")
    yield from _read_table_files(database, "run_artifacts", "run_id", "path", "blob", "created_at")


def _read_table_files(database, table, place, path, blob, moment):
    if not database.has(table, place, path, blob):
        return
    kind = "kind" if database.has(table, "kind") else "NULL"
    moment_sql = moment if database.has(table, moment) else "NULL"
    data_sql = f"CASE WHEN length({blob}) <= {MAX_VALUE // 2} THEN {blob} END"
    sql = f"SELECT {place}, {path}, {kind}, {moment_sql}, length({blob}), {data_sql} FROM {table} ORDER BY 1, 2"  # noqa: S608 - names of this package
    for owner, name, kind_value, created, size, data in database.ask(sql):
        if decode_text(name):
            content = data if isinstance(data, bytes) else None
            yield DatabaseFile(
                table,
                decode_text(owner),
                decode_text(name)[:MAX_PATH],
                decode_text(kind_value),
                _valid_size(size),
                parse_moment_ms(created),
                content,
            )


def _valid_size(value):
    return value if isinstance(value, int) and 0 <= value < 2**53 else None
