"""An agent's own database: sessions, records and archives, as the same things that files are read into."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson

from . import session_index
from .database import DamagedDatabase, Database
from .jsonl import MAX_LINE, Line, load_object, parse_line
from .records import parse_moment_ms
from .session_index import SESSION_ID, IndexEntry
from .zstd_input import read_packed_lines, unpack_record

ARCHIVES, COLD_ARCHIVES, COLD = "session_transcript_archives", "session_transcript_cold_archives", "cold"
EVENTS = ("seq", "event_json", "event_zstd")
ORIGIN = ("parent_session_key", "spawned_by", "fork_source_session_key", "fork_source_session_id")
# From schema 24 on these fields of an entry are rows of their own; the third, sessionDiffBaseline, is not used here.
SNAPSHOTS = ("systemPromptReport", "skillsSnapshot")
BAD_ARCHIVE = "bad_archive"
HASHED = 1024 * 1024  # bytes at once
# What a line of a cold archive is of: a record, or what OpenClaw computes from records.
COLD_EVENT, COLD_OTHERS = "event", ("header", "identity", "active", "index", "fts")
SEQ_LIMIT = 2**53  # every `seq` is below it: what is not, no other program could tell apart
IS_VALID_SEQ = f"typeof(seq) = 'integer' AND seq >= 0 AND seq < {SEQ_LIMIT}"


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """One session of `transcript_events`, without its records: how many, up to which `seq`, how many without one."""

    session_id: str
    count: int
    last_seq: int
    misplaced: int = 0


@dataclass(slots=True)
class Archive:
    """A transcript that OpenClaw put away: `reason` is deleted, reset or cold; `name` is that of its file."""

    session_id: str
    session_key: str
    generation: str
    name: str
    reason: str
    created_at: int | None
    is_packed: bool
    sha256: str = ""  # of its bytes, as its row says; of a cold one only
    size: int | None = None


@dataclass(slots=True)
class Index:
    """What nodes and windows say of sessions, and how many nodes could not be used."""

    entries: list[IndexEntry] = field(default_factory=list)
    unusable: int = 0
    unnamed: list[str] = field(default_factory=list)  # keys of nodes without a session


def is_agent_database(database: Database) -> bool:
    """Whether transcripts are in it (section 0 of what is known about the layouts)."""
    return database.has("transcript_events", "session_id", "seq", "event_json")


def read_session_counts(database: Database) -> Iterator[SessionCounts]:
    """Every session that has records; a session whose id no page could name has an empty id."""
    if not is_agent_database(database):
        return
    told = f"count(*), sum({IS_VALID_SEQ}), max(CASE WHEN {IS_VALID_SEQ} THEN seq END)"
    sql = f"SELECT session_id, {told} FROM transcript_events GROUP BY session_id ORDER BY session_id"  # noqa: S608 - constants
    for raw, rows, count, last in database.ask(sql):
        name = decode_text(raw)
        placed = (count or 0, -1 if last is None else last)
        yield SessionCounts(name if SESSION_ID.fullmatch(name) else "", *placed, misplaced=rows - (count or 0))


def read_generations(database: Database) -> dict[str, str]:
    """Session -> a name that changes when its records are written anew; of older schemas there is none."""
    rows = database.rows("transcript_rewrite_watermarks", "session_id", "generation")
    return {decode_text(session): decode_text(generation) for session, generation in rows}


def hash_prefix(database: Database, session_id: str, end: int) -> str:
    """A fingerprint of a session's records before `end`, for schemas that do not number rewrites.

    When each was written, their ids, and what the last one says: a record without an id may have been written in the
    same moment as another one that was in its place.
    """
    digest, last = hashlib.sha256(), 0
    where, values = "session_id = ? AND seq < ?", (session_id, end)
    for table, name in (("transcript_event_identities", "event_id"), ("transcript_events", "created_at")):
        if database.has(table, "session_id", "seq", name):
            for seq, value in database.rows(table, "seq", name, where=where, values=values, order="seq"):
                digest.update(f"{seq}:{value!r}\n".encode())
                last = seq if isinstance(seq, int) else last
    with suppress(DamagedDatabase):  # `events` says so
        for row in database.rows("transcript_events", *EVENTS, where=f"{where} AND seq >= ?", values=(*values, last)):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def read_events(database: Database, session_id: str, start: int = 0) -> Iterator[Line]:
    """The records of a session from `seq` `start` on, as lines: `offset` is the seq.

    A value that SQLite will not hand out is one rejected line; what cannot be read any further ends with one.
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
                    yield _line(seq, plain, packed)
            return
        except DamagedDatabase as exc:
            failures += 1
            reason = "too_long" if "too big" in str(exc) else "damaged_database"
            yield Line(start, start + 1, b"", reason=reason, detail=str(exc))
            if reason == "damaged_database" or failures > 100:
                return
            start = _next_seq(database, session_id, start)


def read_raw_events(database: Database, session_id: str) -> Iterator[bytes]:
    """The records of a session as they were written; those that cannot be had are left out, `events` says why."""
    rows = database.rows("transcript_events", *EVENTS[1:], where="session_id = ?", values=(session_id,), order="seq")
    with suppress(DamagedDatabase):
        for plain, packed in rows:
            with suppress(ValueError):
                if isinstance(plain, bytes):
                    yield plain
                elif isinstance(packed, bytes):
                    yield unpack_record(packed)


def read_archives(database: Database) -> Iterator[Archive]:
    """What was put away, without what was said."""
    columns = ("session_id", "session_key", "generation", "archive_name", "created_at", "reason", "encoding")
    rows = database.rows(ARCHIVES, *columns, order="created_at")
    for session, key, generation, name, created, reason, encoding in rows:
        about = (
            decode_text(session),
            decode_text(key),
            decode_text(generation),
            decode_text(name),
            decode_text(reason),
            parse_moment_ms(created),
        )
        yield from _usable(Archive(*about, is_packed=decode_text(encoding) == "zstd"))
    cold = ("session_id", "generation", "archive_name", "archived_at", "archive_sha256", "archive_bytes")
    for session, generation, name, archived, sha256, size in database.rows(COLD_ARCHIVES, *cold, order="archived_at"):
        about = (decode_text(session), "", decode_text(generation), decode_text(name), COLD, parse_moment_ms(archived))
        size = size if isinstance(size, int) else None
        yield from _usable(Archive(*about, is_packed=True, sha256=decode_text(sha256), size=size))


def read_blob(database: Database, archive: Archive) -> bytes | None:
    """The lines of an archive as they are stored; None when they are in a file of its name."""
    table = COLD_ARCHIVES if archive.reason == COLD else ARCHIVES
    where = "session_id = ? AND generation = ?"
    rows = database.rows(table, "archive_blob", where=where, values=(archive.session_id, archive.generation))
    return next((blob for (blob,) in rows if isinstance(blob, bytes)), None)


def get_archive_path(archive: Archive) -> str:
    """The place of a cold archive's file, relative to the folder of its agent."""
    return f"sessions/cold/{archive.name}"


def problem_of(archive: Archive, file: BinaryIO) -> str:
    """Why the bytes of a cold archive are not those that its row names; empty when they are. Rewinds `file`."""
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
    """The records of an archive, or one rejected line where its bytes are not those of its row."""
    if problem := problem_of(archive, file):
        return iter([Line(0, archive.size or 1, b"", reason=BAD_ARCHIVE, detail=problem)])
    lines = read_packed_lines(file) if archive.is_packed else (parse_line(line) for line in _plain_lines(file.read()))
    return _cold_records(lines) if archive.reason == COLD else lines


def read_index(database: Database) -> Index:
    """The session index: a node speaks for its current session, a window for itself with what its node says."""
    found = Index()
    nodes = _nodes(database, found)
    entries = {entry.session_id: entry for entry in session_index.read_entries(nodes, found.unnamed)}
    for session_id, key, about in _windows(database):
        if session_id not in entries:
            window = _window_entry(nodes.get(key, {}), session_id, about)
            entries.update((entry.session_id, entry) for entry in session_index.read_entries({key: window}))
            if session_id in entries:
                entries[session_id].files = {}  # its node names another session by now
        if known := entries.get(session_id):
            _add_window(known, about)
    found.entries = list(entries.values())
    return found


def build_archived_entry(archive: Archive) -> IndexEntry | None:
    """What an archive says of its session, for one that no node or window names; None when it has no key."""
    if not archive.session_key:
        return None
    return next(session_index.read_entries({archive.session_key: {"sessionId": archive.session_id}}), None)


def _nodes(database, found):
    """Session key -> entry, as in a session index."""
    nodes: dict[str, dict[str, Any]] = {}
    snapshots = _snapshots(database, found)
    columns = ("session_key", "current_session_id", "entry_json", "updated_at", "label", "display_name")
    for table in ("session_entries", "session_nodes"):
        for key, current, raw, updated, label, shown, *origin in database.rows(table, *columns, *ORIGIN):
            try:
                entry = load_object(raw if isinstance(raw, bytes) else b"")
            except ValueError:
                found.unusable += 1
                entry = {}
            entry = _flat(entry) | snapshots.get(decode_text(key), {})
            entry["sessionId"] = decode_text(current) or entry.get("sessionId")
            entry.setdefault("updatedAt", updated)
            entry.setdefault("label", decode_text(label))
            entry.setdefault("displayName", decode_text(shown))
            _add_origin(entry, *map(decode_text, origin))
            nodes[decode_text(key)] = entry
    return nodes


def _add_origin(entry, parent_key, spawned_by, fork_key, fork_id):
    """What the columns of a node say of the session it came from, where the entry itself does not."""
    if fork_key or fork_id:
        entry.setdefault("forkSource", {"sessionKey": fork_key, "sessionId": fork_id})
    elif parent_key and not spawned_by:
        entry.setdefault("parentSessionKey", parent_key)


def _snapshots(database, found):
    """Session key -> fields of its entry that schema 24 keeps apart; a snapshot wins over the same field inline."""
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
            found.unusable += 1
    return snapshots


def _line(seq, plain, packed):
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


def _next_seq(database, session_id, start):
    sql = "SELECT min(seq) FROM transcript_events WHERE session_id = ? AND seq >= ? AND seq < ?"
    for (seq,) in database.ask(sql, (session_id, start, SEQ_LIMIT)):
        return seq + 1 if isinstance(seq, int) else start + 1
    return start + 1


def _usable(archive):
    if SESSION_ID.fullmatch(archive.session_id) and "/" not in archive.name:
        yield archive


def _cold_records(lines):
    """Records as they were: a cold archive holds rows of several tables, those of `transcript_events` as texts."""
    for line in lines:
        row = orjson.loads(line.raw) if line.reason == "missing_type" else {}
        kind, values = row.get("kind"), row.get("row")
        event = values.get("event_json") if isinstance(values, dict) else None
        if kind == COLD_EVENT and isinstance(event, str):
            yield parse_line(Line(line.offset, line.end, event.encode()))
        elif kind not in COLD_OTHERS:
            yield line


def _plain_lines(blob):
    offset = 0
    for raw in blob.splitlines(keepends=True):
        if raw.strip():
            yield Line(offset, offset + len(raw), raw.strip())
        offset += len(raw)


def _flat(entry):
    """An entry with the delivery of newer OpenClaw under the names that older ones gave it."""
    delivery = entry.get("delivery")
    if isinstance(delivery, dict):
        entry.setdefault("deliveryContext", delivery.get("context"))
        entry.setdefault("origin", delivery.get("origin"))
    return entry


def _windows(database):
    conversations = {
        decode_text(row[0]): {"target": decode_text(row[1]), "label": decode_text(row[2]), "kind": decode_text(row[3])}
        for row in database.rows("conversations", "conversation_id", "delivery_target", "label", "kind")
    }
    columns = ("session_id", "session_key", "previous_session_id", "reason", "updated_at", "chat_type", "channel")
    more = ("account_id", "primary_conversation_id", "model", "display_name", "status")
    for row in database.rows("session_windows", *columns, *more, order="updated_at"):
        about = dict(zip((*columns, *more), row, strict=True))
        updated = about.pop("updated_at")
        about = {name: decode_text(value) for name, value in about.items()}
        conversation = conversations.get(about["primary_conversation_id"], {})
        yield about["session_id"], about["session_key"], {**about, "updated_at": updated, "conversation": conversation}


def _window_entry(node, session_id, about):
    """What a window without a node of its own is: its node's origin and delivery, and what it says itself."""
    entry = {
        name: node[name]
        for name in ("deliveryContext", "origin", "chatType", "groupId", "subject", "forkSource")
        if name in node
    }
    own = {"chatType": about["chat_type"], "channel": about["channel"], "lastAccountId": about["account_id"]}
    own |= {"lastTo": about["conversation"].get("target", ""), "model": about["model"], "status": about["status"]}
    own |= {"displayName": about["display_name"], "updatedAt": about["updated_at"]}
    return entry | {name: value for name, value in own.items() if value} | {"sessionId": session_id}


def _add_window(entry, about):
    for name, word in (("previous_session_id", "previousSessionId"), ("reason", "windowReason")):
        if about[name]:
            entry.metadata[word] = about[name]
    entry.parents += [about["previous_session_id"]] if about["previous_session_id"] else []
    entry.target = entry.target or about["conversation"].get("target") or None
    if entry.channel == "unknown" and about["channel"]:
        entry.channel = about["channel"]


def decode_text(value: Any) -> str:
    """A text column as text; empty for anything else, and for what is not UTF-8."""
    if not isinstance(value, bytes):
        return ""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return ""
