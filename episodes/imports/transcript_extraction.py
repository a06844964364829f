"""Makes events of what people and the agent said in transcript files.

They are those of the existing tool's extractor, which writes them to a spool first; here they are stored at once.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import re2

from agents.homes import NotReadable, is_utf8_name, open_regular
from agents.models import Agent
from agents.sources import SourceBook
from episodes import sensitive_text
from episodes.append import MOST_AT_ONCE
from episodes.collectors.complete_lines import CompleteLine, read_complete_lines
from episodes.events import PAYLOAD_BYTES, WrongEvent, parse_moment
from gate.collectors.batches import split_batches
from ledger import consent

from .conversation_texts import clean_message, find_message
from .normalization import bound_json, clean_text, sanitize_payload, split_scope_tag
from .source_events import PositionStore, is_withheld, store_events
from .spool_events import CONVERSATION, SpoolLimits, normalize_event

KIND, REFS_SOURCE = "episode_sessions", "session_jsonl_tail"
MAIL = re2.compile(r"(?i)\b[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}\b")
PHONE = re.compile(r"(?<!\d)\+?\d[\d\s()-]{7,}\d(?!\d)")
HIDDEN_SECRET, HIDDEN_OUTPUT = "[REDACTED_SECRET]", "[REDACTED_TOOL_DUMP]"
COPIES = (".checkpoint.", ".bak.")  # parts of names
FILES_AT_ONCE = 100  # files after which positions are stored
TIMES = ("ts_ms", "timestamp_ms", "tsMs", "timestamp", "ts")
SESSIONS, AGENTS = ("sessionKey", "session_id", "session"), ("agentId", "agent_id")
ID_DIGITS, MOST_ERRORS = 32, 5


@dataclass(slots=True)
class ExtractionResult:
    """Numbers of one reading of a folder of transcripts."""

    files_seen: int = 0
    files_with_updates: int = 0
    lines_total: int = 0
    invalid_json: int = 0
    unsupported_rows: int = 0
    emitted: int = 0
    payload_redacted: int = 0
    payload_truncated: int = 0
    sanitized_dropped: int = 0
    trailing_partial_bytes: int = 0
    ignored_files: int = 0
    # Our own numbers: events that were there, that retention removed, that were withheld, that break a rule.
    known: int = 0
    expired: int = 0
    withheld: int = 0
    invalid_event: int = 0
    errors: list[str] = field(default_factory=list)

    OWN = ("known", "expired", "withheld", "invalid_event")

    def as_json(self) -> dict[str, int]:
        """Return the numbers of the existing tool's receipt; our own ones only where they say something."""
        counts = {name: count for name, count in asdict(self).items() if name != "errors"}
        return {name: count for name, count in counts.items() if count or name not in self.OWN}

    def note_error(self, sentence: str) -> None:
        """Keep a sentence for the receipt, which names a few."""
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(sentence)


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """Characters of summaries and bytes of payloads."""

    summary_characters: int
    payload_bytes: int


def extract(agent: Agent, root: Path, limits: ExtractionLimits) -> ExtractionResult:
    """Store events of the new lines of all transcripts below a folder.

    Positions are stored now and then; after a kill known events are read again, and stay as they are. The files are
    only read.
    """
    opted_out, result = consent.read_opted_out(), ExtractionResult()
    dbs = {agent.agent_id: agent.db}
    positions = PositionStore(SourceBook(root), f"{KIND}:{agent.agent_id}", root, sorted(opted_out), dbs)
    paths = _list_transcripts(root, result)
    before = positions.load().get("files", {})
    places = {str(path): before[str(path)] for path in paths if str(path) in before}
    unsaved = 0
    for path in paths:
        result.files_seen += 1
        try:
            with open_regular(root, path) as file:
                place = _read_file(agent, path, file, places.get(str(path)), limits, opted_out, result)
        except (NotReadable, OSError) as exc:
            result.ignored_files += 1
            result.note_error(f"{path}: {exc}")
            continue
        unsaved += place != places.get(str(path))
        places[str(path)] = place
        if unsaved == FILES_AT_ONCE:
            positions.save({"files": places})
            unsaved = 0
    if unsaved:
        positions.save({"files": places})
    return result


def _list_transcripts(root, result) -> list[Path]:
    """Return the transcripts below a folder in order; copies and checkpoints are counted as ignored."""
    paths = []
    for folder, _folders, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if not name.endswith(".jsonl") or not path.is_file():
                continue
            if any(part in name for part in COPIES) or not is_utf8_name(str(path)):
                result.ignored_files += 1
            else:
                paths.append(path)
    return sorted(paths, key=str)


def _read_file(agent, path, file, place, limits, opted_out, result):
    """Store the events of one file's new lines; returns how far it was read."""
    stat = os.fstat(file.fileno())
    start, inode = place or (0, stat.st_ino)
    start = 0 if inode != stat.st_ino or start > stat.st_size else start
    end = start
    lines = read_complete_lines(file, start, stat.st_size) if start < stat.st_size else ()
    for batch in split_batches(lines, lambda line: len(line.raw), MOST_AT_ONCE):
        spool_events = list(_read_events(path, batch, limits, opted_out, result))
        stored = store_events(agent.db, [spool_event.event for spool_event in spool_events])
        result.emitted += len(stored.new)
        result.known += stored.known
        result.expired += stored.expired
        end = batch[-1].end
    result.files_with_updates += end > start
    result.trailing_partial_bytes += max(0, stat.st_size - end)
    return [end, stat.st_ino]


def _read_events(path, batch: list[CompleteLine], limits, opted_out, result) -> Iterator[Any]:
    for line in batch:
        if line.is_rest or line.is_blank:
            continue
        result.lines_total += 1
        if line.record is None:
            result.invalid_json += 1
            result.note_error(f"{path}:{line.offset}:invalid_json")
            continue
        try:
            value = _build_value(path, line, limits, result)
            spool_event = normalize_event(value, value["event_id"], SpoolLimits()) if value else None
        except WrongEvent as exc:
            result.invalid_event += 1
            result.note_error(f"{path}:{line.offset}:{exc.sentence}")
            continue
        if spool_event and is_withheld(spool_event.event.session_id, opted_out):
            result.withheld += 1
        elif spool_event:
            yield spool_event


def _build_value(path, line, limits, result) -> dict[str, Any] | None:
    """Return what the existing tool would write to its spool; None for no event."""
    record = line.record
    role, text = find_message(record)
    if not role:
        result.unsupported_rows += 1
        return None
    scope, body = split_scope_tag(text)
    spoken = clean_message(role, body or text)
    message = sensitive_text.mask_personal(spoken)
    if not message:
        result.sanitized_dropped += 1
        return None
    event_type = f"{CONVERSATION}{role}"
    hidden = HIDDEN_OUTPUT if sensitive_text.is_tool_output(message) else ""
    hidden = HIDDEN_SECRET if sensitive_text.is_secret(message) else hidden
    payload, is_cut = (None, False) if hidden else _build_payload(message, limits.payload_bytes)
    result.payload_redacted += bool(hidden)
    result.payload_truncated += is_cut
    digest = hashlib.sha256(f"{path}:{line.offset}:{event_type}:{_mask_as_existing_tool(spoken)}".encode())
    return {
        "event_id": f"ep-{digest.hexdigest()[:ID_DIGITS]}",
        "ts_ms": _read_moment(record),
        "scope": scope,
        "session_id": _read_first(record, SESSIONS, path.stem),
        "agent_id": _read_first(record, AGENTS, "main"),
        "type": event_type,
        "summary": _build_summary(event_type, hidden or message, limits.summary_characters),
        "payload": payload,
        "redacted": bool(hidden),
        "refs": {"source": REFS_SOURCE, "path": str(path), "offset": line.offset},
    }


def _mask_as_existing_tool(text):
    """Return a text as the existing tool masks it, which ids hold: events that were read before are known by them."""
    return PHONE.sub("[REDACTED_PHONE]", MAIL.sub("[REDACTED_EMAIL]", text))


def _build_payload(message, most_bytes):
    most_bytes = min(max(256, most_bytes), PAYLOAD_BYTES)
    return bound_json(sanitize_payload({"text": message}, most_bytes), most_bytes, "payload")


def _build_summary(event_type, text, most_characters):
    text = text.replace("\n", " ").strip()
    return f"{event_type}: {text[:most_characters]}{'…' if len(text) > most_characters else ''}"


def _read_first(record, names, default):
    return clean_text(next((record[name] for name in names if record.get(name)), default))


def _read_moment(record):
    """Return the time of a line in milliseconds; None, which means now, where it names none."""
    value = next((record[name] for name in TIMES if record.get(name)), None)
    try:
        return None if value is None else parse_moment(value)
    except WrongEvent:
        pass
    try:
        return parse_moment(datetime.fromisoformat(str(value)).timestamp() * 1000)
    except (ValueError, OverflowError, WrongEvent):
        return None
