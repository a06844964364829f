"""Reads sessions, records and archives from an agent's database, as the types of the file readers."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import orjson

from . import session_index
from .answers import OUTCOMES
from .database import DamagedDatabase, Database
from .jsonl import MAX_LINE, Line, load_object, parse_line
from .records import MAX_NAME, parse_moment_ms
from .session_index import SESSION_ID, IndexEntry
from .zstd_input import read_packed_lines, unpack_record

ARCHIVES, COLD_ARCHIVES, COLD = "session_transcript_archives", "session_transcript_cold_archives", "cold"
EVENTS = ("seq", "event_json", "event_zstd")
RUNS = ("session_key", "run_id", "outcome", "occurred_at")
SENDS = ("source_session_key", "queue_id", "status", "created_at")
PENDING = ("session_id", "accepted_at", "consumed_event_id")
UNKNOWN_RUN = "unknown"  # OpenClaw's word where it does not know the run
ORIGIN = ("parent_session_key", "spawned_by", "fork_source_session_key", "fork_source_session_id")
# From schema 24 on these fields of an entry are rows of their own; the third, sessionDiffBaseline, is not used here.
SNAPSHOTS = ("systemPromptReport", "skillsSnapshot")
BAD_ARCHIVE = "bad_archive"
HASHED = 1024 * 1024  # bytes at once
# Kinds of lines in a cold archive: records, and rows that OpenClaw computes from records.
COLD_EVENT, COLD_OTHERS = "event", ("header", "identity", "active", "index", "fts")
SEQ_LIMIT = 2**53  # every `seq` is below it: other programs cannot tell larger ones apart
IS_VALID_SEQ = f"typeof(seq) = 'integer' AND seq >= 0 AND seq < {SEQ_LIMIT}"


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """One session of `transcript_events`: its number of records, and the last `seq`."""

    session_id: str
    count: int
    last_seq: int
    misplaced: int = 0  # records without a usable `seq`


@dataclass(slots=True)
class Archive:
    """A transcript that OpenClaw archived; `name` is that of its file."""

    session_id: str
    session_key: str
    generation: str
    name: str
    reason: str  # deleted, reset or cold
    created_at: int | None
    is_packed: bool
    sha256: str = ""  # of its bytes, as its row says; of a cold one only
    size: int | None = None


@dataclass(slots=True)
class Index:
    """The entries of the session index, and how many nodes could not be used."""

    entries: list[IndexEntry] = field(default_factory=list)
    unusable: int = 0
    unnamed: list[str] = field(default_factory=list)  # keys of nodes without a session
    has_nodes: bool = False


def is_agent_database(database: Database) -> bool:
    """Whether a database has transcripts."""
    return database.has("transcript_events", "session_id", "seq", "event_json")


def read_session_counts(database: Database) -> Iterator[SessionCounts]:
    """Every session that has records; an id that no page could have is empty."""
    if not is_agent_database(database):
        return
    columns = f"count(*), sum({IS_VALID_SEQ}), max(CASE WHEN {IS_VALID_SEQ} THEN seq END)"
    sql = f"SELECT session_id, {columns} FROM transcript_events GROUP BY session_id ORDER BY session_id"  # noqa: S608 - constants
    for raw, rows, count, last in database.ask(sql):
        name = decode_text(raw)
        counts = (count or 0, -1 if last is None else last)
        yield SessionCounts(name if SESSION_ID.fullmatch(name) else "", *counts, misplaced=rows - (count or 0))


def read_generations(database: Database) -> dict[str, str]:
    """Session -> a name that changes when its records are rewritten; older schemas have none."""
    rows = database.rows("transcript_rewrite_watermarks", "session_id", "generation")
    return {decode_text(session): decode_text(generation) for session, generation in rows}


def hash_prefix(database: Database, session_id: str, end: int) -> str:
    """A fingerprint of a session's records before `end`, for schemas that do not number rewrites.

    It covers their moments, their ids, and the content of the last one: a record without an id may have been written in
    the same moment as another one that was in its place.
    """
    digest, last = hashlib.sha256(), 0
    where, values = "session_id = ? AND seq < ?", (session_id, end)
    for table, name in (("transcript_event_identities", "event_id"), ("transcript_events", "created_at")):
        if database.has(table, "session_id", "seq", name):
            for seq, value in database.rows(table, "seq", name, where=where, values=values, order="seq"):
                digest.update(f"{seq}:{value!r}\n".encode())
                last = seq if isinstance(seq, int) else last
    with suppress(DamagedDatabase):  # `read_events` reports it
        for row in database.rows("transcript_events", *EVENTS, where=f"{where} AND seq >= ?", values=(*values, last)):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def read_events(database: Database, session_id: str, start: int = 0) -> Iterator[Line]:
    """The records of a session from `seq` `start` on, as lines: `offset` is the seq.

    A value that SQLite cannot return is one rejected line. Where reading cannot continue, the last line is a rejected
    one.
    """
    failures = 0
    while True:
        where = "session_id = ? AND seq >= ? AND seq < ?"
        rows = database.rows(
            "transcript_events", *EVENTS, where=where, values=(session_id, start, SEQ_LIMIT), order="seq"
        )
        try:
            for seq, plain, packed in rows:
                if isinstance(seq, int):
                    start = seq + 1
                    yield _build_line(seq, plain, packed)
            return
        except DamagedDatabase as exc:
            failures += 1
            reason = "too_long" if "too big" in str(exc) else "damaged_database"
            yield Line(start, start + 1, b"", reason=reason, detail=str(exc))
            if reason == "damaged_database" or failures > 100:
                return
            start = _find_next_seq(database, session_id, start)


def read_raw_events(database: Database, session_id: str) -> Iterator[bytes]:
    """The readable records of a session as they were written; `read_events` explains the others."""
    rows = database.rows("transcript_events", *EVENTS[1:], where="session_id = ?", values=(session_id,), order="seq")
    with suppress(DamagedDatabase):
        for plain, packed in rows:
            with suppress(ValueError):
                if isinstance(plain, bytes):
                    yield plain
                elif isinstance(packed, bytes):
                    yield unpack_record(packed)


def read_archives(database: Database) -> Iterator[Archive]:
    """The archives of a database, without their content."""
    columns = ("session_id", "session_key", "generation", "archive_name", "created_at", "reason", "encoding")
    rows = database.rows(ARCHIVES, *columns, order="created_at")
    for session, key, generation, name, created, reason, encoding in rows:
        values = (
            decode_text(session),
            decode_text(key),
            decode_text(generation),
            decode_text(name),
            decode_text(reason),
            parse_moment_ms(created),
        )
        yield from _filter_usable(Archive(*values, is_packed=decode_text(encoding) == "zstd"))
    cold = ("session_id", "generation", "archive_name", "archived_at", "archive_sha256", "archive_bytes")
    for session, generation, name, archived, sha256, size in database.rows(COLD_ARCHIVES, *cold, order="archived_at"):
        values = (decode_text(session), "", decode_text(generation), decode_text(name), COLD, parse_moment_ms(archived))
        size = size if isinstance(size, int) else None
        yield from _filter_usable(Archive(*values, is_packed=True, sha256=decode_text(sha256), size=size))


def read_blob(database: Database, archive: Archive) -> bytes | None:
    """The lines of an archive as they are stored, or None when a file has them."""
    table = COLD_ARCHIVES if archive.reason == COLD else ARCHIVES
    where = "session_id = ? AND generation = ?"
    rows = database.rows(table, "archive_blob", where=where, values=(archive.session_id, archive.generation))
    return next((blob for (blob,) in rows if isinstance(blob, bytes)), None)


def get_archive_path(archive: Archive) -> str:
    """The path of a cold archive's file, relative to the folder of its agent."""
    return f"sessions/cold/{archive.name}"


def problem_of(archive: Archive, file: BinaryIO) -> str:
    """The difference between a cold archive's bytes and its row, or empty; rewinds `file`."""
    if archive.reason != COLD or not archive.sha256:
        return ""
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(HASHED):
        digest.update(chunk)
        size += len(chunk)
    file.seek(0)
    if archive.size not in (None, size):
        return f"{archive.name} has {size:,} bytes, its row says {archive.size:,}"
    if digest.hexdigest() != archive.sha256:
        return f"{archive.name} does not have the hash of its row"
    return ""


def read_archived_lines(archive: Archive, file: BinaryIO) -> Iterator[Line]:
    """The records of an archive, or one rejected line when it differs from its row."""
    if problem := problem_of(archive, file):
        return iter([Line(0, archive.size or 1, b"", reason=BAD_ARCHIVE, detail=problem)])
    lines = read_packed_lines(file) if archive.is_packed else (parse_line(line) for line in _split_lines(file.read()))
    return _parse_cold_records(lines) if archive.reason == COLD else lines


def read_index(database: Database) -> Index:
    """The session index: its nodes, and its windows that no node names.

    A node is the entry of its current session. A window is the entry of its own session, completed by its node.
    """
    index_entries = Index()
    nodes = _read_nodes(database, index_entries)
    index_entries.has_nodes = bool(nodes)
    entries = {entry.session_id: entry for entry in session_index.read_entries(nodes, index_entries.unnamed)}
    started: dict[str, int] = {}
    for session_id, key, window_values in _read_windows(database):
        started[session_id] = window_values["created_at"] or 0
        if session_id not in entries:
            window = _build_window_entry(nodes.get(key, {}), session_id, window_values)
            entries.update((entry.session_id, entry) for entry in session_index.read_entries({key: window}))
            if session_id in entries:
                entries[session_id].files = {}  # its node names another session now
        if known := entries.get(session_id):
            _add_window(known, window_values)
    index_entries.entries = list(entries.values())
    _add_outcomes(database, index_entries.entries, started)
    for session, accepted, consumed in database.rows("session_pending_inputs", *PENDING, order="accepted_at"):
        if consumed is None and (entry := entries.get(decode_text(session))):
            count = entry.metadata.get("pendingInputs", {}).get("count", 0)
            entry.metadata["pendingInputs"] = {"count": count + 1, "lastAt": parse_moment_ms(accepted)}
    return index_entries


def build_archived_entry(archive: Archive) -> IndexEntry | None:
    """The entry of an archive's session that no node or window names; None without a key."""
    if not archive.session_key:
        return None
    return next(session_index.read_entries({archive.session_key: {"sessionId": archive.session_id}}), None)


def _add_outcomes(database, entries, started):
    """Add how runs and sends ended to the entries of their sessions, by the id of the run or of the queued message.

    Of several sessions with the key, it is the last one that had started.
    """
    by_key: dict[str, list[IndexEntry]] = {}
    for entry in sorted(entries, key=lambda entry: started.get(entry.session_id, 0)):
        for key in {entry.session_key, *entry.files}:
            by_key.setdefault(key, []).append(entry)
    runs = database.rows("message_tool_run_outcomes", *RUNS, order="occurred_at")
    for key, name, outcome, at in chain(runs, database.rows("conversation_deliveries", *SENDS, order="created_at")):
        moment, name, outcome = parse_moment_ms(at) or 0, decode_text(name), OUTCOMES.get(decode_text(outcome))
        own = [entry for entry in by_key.get(decode_text(key), ()) if started.get(entry.session_id, 0) <= moment]
        if own and outcome and 0 < len(name) <= MAX_NAME and name != UNKNOWN_RUN:
            own[-1].metadata.setdefault("outcomes", {})[name] = outcome


def _read_nodes(database, index_entries):
    """Session key -> entry, as in a session index."""
    nodes: dict[str, dict[str, Any]] = {}
    snapshots = _read_snapshots(database, index_entries)
    columns = ("session_key", "current_session_id", "entry_json", "updated_at", "label", "display_name")
    for table in ("session_entries", "session_nodes"):
        for key, current, raw, updated, label, display_name, *origin in database.rows(table, *columns, *ORIGIN):
            try:
                entry = load_object(raw if isinstance(raw, bytes) else b"")
            except ValueError:
                index_entries.unusable += 1
                entry = {}
            # An entry with the delivery of newer OpenClaw under the names of older versions.
            delivery = entry.get("delivery")
            if isinstance(delivery, dict):
                entry.setdefault("deliveryContext", delivery.get("context"))
                entry.setdefault("origin", delivery.get("origin"))
            entry = entry | snapshots.get(decode_text(key), {})
            entry["sessionId"] = decode_text(current) or entry.get("sessionId")
            entry.setdefault("updatedAt", updated)
            entry.setdefault("label", decode_text(label))
            entry.setdefault("displayName", decode_text(display_name))
            _add_origin(entry, *map(decode_text, origin))
            nodes[decode_text(key)] = entry
    return nodes


def _add_origin(entry, parent_key, spawned_by, fork_key, fork_id):
    """Add the session that a node came from by its columns, where the entry lacks it."""
    if fork_key or fork_id:
        entry.setdefault("forkSource", {"sessionKey": fork_key, "sessionId": fork_id})
    elif parent_key and not spawned_by:
        entry.setdefault("parentSessionKey", parent_key)


def _read_snapshots(database, index_entries):
    """Session key -> fields of its entry that schema 24 stores separately.

    A snapshot wins over the same field in the entry.
    """
    snapshots: dict[str, dict[str, Any]] = {}
    rows = database.rows(
        "session_entry_snapshots", "session_key", "field", "value_json", where="field IN (?, ?)", values=SNAPSHOTS
    )
    for key, field_name, raw in rows:
        if not isinstance(raw, bytes) or raw == b"null":
            continue
        try:
            snapshots.setdefault(decode_text(key), {})[decode_text(field_name)] = load_object(raw)
        except ValueError:
            index_entries.unusable += 1
    return snapshots


def _build_line(seq, plain, packed):
    line = Line(seq, seq + 1, b"")
    if isinstance(plain, bytes):
        line.raw = plain
    elif isinstance(packed, bytes):
        try:
            line.raw = unpack_record(packed)
        except ValueError as exc:
            line.reason, line.detail = "bad_zstd", str(exc)
            return line
    if len(line.raw) > MAX_LINE:
        return Line(seq, seq + 1, line.raw[:4096], reason="too_long", detail=f"over {MAX_LINE} bytes")
    return parse_line(line)


def _find_next_seq(database, session_id, start):
    sql = "SELECT min(seq) FROM transcript_events WHERE session_id = ? AND seq >= ? AND seq < ?"
    for (seq,) in database.ask(sql, (session_id, start, SEQ_LIMIT)):
        return seq + 1 if isinstance(seq, int) else start + 1
    return start + 1


def _filter_usable(archive):
    if SESSION_ID.fullmatch(archive.session_id) and "/" not in archive.name:
        yield archive


def _parse_cold_records(lines):
    """The records of a cold archive.

    It holds rows of several tables; those of `transcript_events` are texts.
    """
    for line in lines:
        row = orjson.loads(line.raw) if line.reason == "missing_type" else {}
        kind, values = row.get("kind"), row.get("row")
        event = values.get("event_json") if isinstance(values, dict) else None
        if kind == COLD_EVENT and isinstance(event, str):
            yield parse_line(Line(line.offset, line.end, event.encode()))
        elif kind not in COLD_OTHERS:
            yield line


def _split_lines(blob):
    offset = 0
    for raw in blob.splitlines(keepends=True):
        if raw.strip():
            yield Line(offset, offset + len(raw), raw.strip())
        offset += len(raw)


def _read_windows(database):
    conversations = {
        decode_text(row[0]): {"target": decode_text(row[1]), "label": decode_text(row[2]), "kind": decode_text(row[3])}
        for row in database.rows("conversations", "conversation_id", "delivery_target", "label", "kind")
    }
    columns = ("session_id", "session_key", "previous_session_id", "reason", "updated_at", "chat_type", "channel")
    more = ("account_id", "primary_conversation_id", "model", "display_name", "status", "created_at")
    for row in database.rows("session_windows", *columns, *more, order="updated_at"):
        values = dict(zip((*columns, *more), row, strict=True))
        updated, created = values.pop("updated_at"), values.pop("created_at")
        values = {name: decode_text(value) for name, value in values.items()}
        conversation = conversations.get(values["primary_conversation_id"], {})
        yield (
            values["session_id"],
            values["session_key"],
            {**values, "updated_at": updated, "created_at": parse_moment_ms(created), "conversation": conversation},
        )


def _build_window_entry(node, session_id, window_values):
    """The entry of a window without its own node: values of its node, and its own."""
    entry = {
        name: node[name]
        for name in ("deliveryContext", "origin", "chatType", "groupId", "subject", "forkSource")
        if name in node
    }
    own_values = {
        "chatType": window_values["chat_type"],
        "channel": window_values["channel"],
        "lastAccountId": window_values["account_id"],
    }
    own_values |= {
        "lastTo": window_values["conversation"].get("target", ""),
        "model": window_values["model"],
        "status": window_values["status"],
    }
    own_values |= {"displayName": window_values["display_name"], "updatedAt": window_values["updated_at"]}
    return entry | {name: value for name, value in own_values.items() if value} | {"sessionId": session_id}


def _add_window(entry, window_values):
    words = ("previousSessionId", "windowReason", "conversationRef")
    for name, word in zip(("previous_session_id", "reason", "primary_conversation_id"), words, strict=True):
        if window_values[name]:
            entry.metadata[word] = window_values[name]
    entry.parents += [window_values["previous_session_id"]] if window_values["previous_session_id"] else []
    entry.target = entry.target or window_values["conversation"].get("target") or None
    if entry.channel == "unknown" and window_values["channel"]:
        entry.channel = window_values["channel"]


def decode_text(value: Any) -> str:
    """A text column as text; empty for other types, and for bytes that are not UTF-8."""
    if not isinstance(value, bytes):
        return ""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return ""
