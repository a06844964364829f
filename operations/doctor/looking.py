"""A look inside sources that a collect would read: how many records, and what it would reject where."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from agents import reasons
from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from ledger.collectors import agent_database, jsonl, packed, session_index
from ledger.collectors.database import Damaged, Database
from ledger.collectors.database_tables import AGENT, MEMORY, STATE
from ledger.collectors.jsonl import Line
from ledger.envelopes import fingerprint
from ledger.models import Session
from ledger.records import own_id
from operations import collect_archives, collect_databases, collect_mem_store
from operations.collect_databases import Unreadable
from operations.collectors import cron, state_database, subagents

from .secrets import why_not_read
from .sources import LEFTOVER, TRAJECTORY, Source

Kind = CollectorSource.Kind
MAX_WHOLE = 64 * 1024 * 1024
TABLES = {"transcript_events": AGENT, "task_runs": STATE, "indexed_files": MEMORY}
Rejected = list[dict[str, Any]]


def inside(collection: Any, source: Source, rejected: Rejected) -> None:
    """Count what is new in a source; what will be rejected goes to `rejected`."""
    try:
        if source.kind == Kind.DATABASE:
            _database(collection, source, rejected)
        elif source.kind in (Kind.TRANSCRIPT, LEFTOVER):
            _transcript(collection, source, rejected)
        elif source.kind == Kind.CRON_RUNS:
            _run_log(collection, source, rejected)
        elif source.kind == TRAJECTORY:
            _count(source, _lines_of(collection, source), [])
        elif source.kind == Kind.ARTIFACT:
            _artifact(source, rejected)
        elif source.kind in WHOLE:
            _whole(collection, source, rejected)
    except NotReadable as exc:
        source.problem = str(exc)


def record_id(line: Line) -> str:
    """What a record is known by in its session, as long as nothing was rewritten."""
    return (own_id(line.record) if line.record else None) or f"@{line.offset}"


def has_id(line: Line) -> bool:
    """Whether a record brings a name of its own."""
    return line.record is not None and own_id(line.record) is not None


def lines(file: Any, path: Path, state: str, start: int = 0) -> Iterator[Line]:
    """The lines of an opened transcript, packed or plain."""
    if path.suffix == collect_archives.SUFFIX:
        return packed.read_packed_lines(file)
    return jsonl.read_lines(file, start, is_closed=state not in ("", Session.State.LIVE))


def _transcript(collection, source, rejected):
    with open_regular(collection.home.root, source.file) as file:
        start = 0
        if source.file.suffix != collect_archives.SUFFIX:
            start = collection.book.reading(Kind.TRANSCRIPT, source.file, file).offset
            file.seek(0)
            first = file.readline(MAX_WHOLE)
            source.version = _header_version(first)
        _count(source, lines(file, source.file, source.session_state, start), rejected)


def _header_version(line):
    try:
        version = orjson.loads(line).get("version")
    except (orjson.JSONDecodeError, AttributeError):
        return ""
    return str(version) if isinstance(version, int) else ""


def _lines_of(collection, source):
    with open_regular(collection.home.root, source.file) as file:
        start = collection.book.reading(Kind.TRANSCRIPT, source.file, file).offset
        yield from jsonl.read_lines(file, start)


def _count(source, found: Iterable[Line], rejected):
    """Count records; another record under a known id is one that will be rejected."""
    seen: dict[str, int | str] = {}
    for line in found:
        if line.record is None:
            _reject(source, rejected, line.offset, line.reason, line.detail)
            continue
        name, digest = record_id(line), fingerprint(line.raw, line.record)
        if seen.setdefault(name, digest) != digest:
            _reject(source, rejected, line.offset, "duplicate_id", name)
            continue
        source.records += 1


def _run_log(collection, source, rejected):
    with open_regular(collection.home.root, source.file) as file:
        start = collection.book.reading(Kind.CRON_RUNS, source.file, file).offset
        for line in jsonl.read_lines(file, start):
            record = line.record
            if record is None and line.reason == "missing_type":
                record = orjson.loads(line.raw)
            try:
                if record is not None:
                    cron.read_run(record, job_id="")
            except ValueError as exc:
                record, line.reason, line.detail = None, "bad_run", str(exc)
            if record is None:
                _reject(source, rejected, line.offset, line.reason, line.detail)
            else:
                source.records += 1


def _artifact(source, rejected):
    if problem := collect_mem_store.problem_of(source.content):
        _reject(source, rejected, 0, collect_mem_store.BAD, problem)
    else:
        source.records = 1


def _whole(collection, source, rejected):
    read, reason = WHOLE[source.kind]
    with open_regular(collection.home.root, source.file) as file:
        data = file.read(MAX_WHOLE)
    try:
        source.records = len(list(read(data)))
    except ValueError as exc:
        _reject(source, rejected, 0, reason, str(exc))


def _database(collection, source, rejected):
    tables = TABLES[source.target]
    try:
        with collect_databases.opened(collection, source.file, tables) as database:
            source.skipped_tables = tables_left(database)
            source.version = str(database.version)
            if tables is STATE:
                source.records = _in_state(database)
            elif tables is AGENT:
                _sessions(collection, source, database, rejected)
    except Unreadable as exc:
        source.problem = str(exc)
        _reject(source, rejected, 0, exc.reason, str(exc))
    except Damaged as exc:
        source.problem = reasons.of_sqlite(str(exc))
        _reject(source, rejected, 0, "bad_database", source.problem)


def tables_left(database: Database) -> list[dict[str, str]]:
    """Every table that is not read, by name, and why."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    names = [agent_database.text(name) for (name,) in database.ask(sql)]
    return [{"name": name, "why": why_not_read(name)} for name in names if name not in database.columns]


def _in_state(database):
    readers = (
        *(state_database.jobs, state_database.runs, state_database.subagent_runs),
        *(state_database.tasks, state_database.flows, state_database.deliveries),
    )
    return sum(sum(1 for _row in read(database)) for read in readers)


def _sessions(collection, source, database, rejected):
    """Count the records of every session, also of those that are known: their number is what verifying compares."""
    book = collection.book
    ignored = collection.ignored.get(source.agent, frozenset())
    for one in agent_database.contents(database):
        if not one.session_id:
            _reject(source, rejected, 0, "bad_session", "")
            continue
        if one.session_id in ignored:
            continue
        part = book.part(f"{source.name}#{one.session_id}")
        if part and (part.end, part.count) == (one.last_seq + 1, one.count):
            continue
        _session(source, one.session_id, agent_database.events(database, one.session_id), part, rejected)
    if collection.include_deleted:
        for archive in agent_database.archives(database):
            blob = agent_database.blob_of(database, archive)
            name = f"{source.name}!{archive.session_id}/{archive.generation}"
            if blob is not None and not book.part(name) and archive.session_id not in ignored:
                _session(source, archive.session_id, agent_database.archived_lines(archive, blob), None, rejected)


def _session(source, session_id, found, part, rejected):
    seen: dict[str, int | str] = {}
    start = part.end if part else 0
    for line in found:
        if line.record is None:
            if line.offset >= start:
                _reject(source, rejected, line.offset, line.reason, f"{session_id} {line.detail}".strip())
            continue
        name, digest = record_id(line), fingerprint(line.raw, line.record)
        if seen.setdefault(name, digest) != digest:
            _reject(source, rejected, line.offset, "duplicate_id", f"{session_id} {name}")
        elif line.offset >= start:
            source.records += 1
    source.sessions[session_id] = max(len(seen), source.sessions.get(session_id, 0))


def _reject(source, rejected, offset, reason, detail):
    source.rejected += 1
    rejected.append({"file": source.name, "offset": offset, "reason": reason, "detail": detail[:200]})


def sha256_of(root: Path, file: Path) -> str:
    """The hash of a source as it is now. Raises NotReadable."""
    digest = hashlib.sha256()
    with open_regular(root, file) as opened:
        while chunk := opened.read(io.DEFAULT_BUFFER_SIZE * 32):
            digest.update(chunk)
    return digest.hexdigest()


WHOLE = {
    Kind.SESSION_INDEX: (session_index.read, "bad_index"),
    Kind.CRON_JOBS: (cron.read_jobs, "bad_file"),
    Kind.SUBAGENT_RUNS: (subagents.read_runs, "bad_file"),
}
