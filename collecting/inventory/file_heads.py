"""Recognises transcripts and their sessions by the first lines. No Django."""

import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import zstandard

from ledger.collectors.jsonl import Line, parse_line
from ledger.collectors.records import KINDS_BY_TYPE
from ledger.collectors.session_index import SESSION_ID
from ledger.collectors.zstd_input import read_unpacked_start

FIRST, MOST = 4096, 64 * 1024  # bytes; the header of most files is within the first few
LINES = 20
MESSAGE = re.compile(rb'"type"\s*:\s*"(?:message|session|compaction)"')


@dataclass(frozen=True, slots=True)
class TranscriptHead:
    """The facts of a file's first lines; `session_id` is that of its header."""

    is_transcript: bool
    session_id: str = ""
    cwd: str = ""  # the folder that the header names
    agent: str = ""


def read_head(file: BinaryIO, *, is_packed: bool = False) -> TranscriptHead:
    """Read the head of an open file. Its position is then undefined."""
    file.seek(0)
    if is_packed:
        try:
            return classify(read_unpacked_start(file, MOST))
        except (zstandard.ZstdError, ValueError):
            return TranscriptHead(False)
    data = file.read(FIRST)
    head = classify(data)
    if head.session_id or len(data) < FIRST:
        return head
    return classify(data + file.read(MOST - FIRST))


def classify(data: bytes) -> TranscriptHead:
    """Classify the beginning of a file; of a line longer than `data`, only its beginning counts."""
    is_transcript = False
    lines = data.split(b"\n", LINES)
    for raw in lines[:LINES]:
        record = parse_line(Line(0, len(raw), raw.strip())).record if raw.strip() else None
        if record is None:
            continue
        if session_id := _header_id(record):
            cwd, agent = (record.get(name) for name in ("cwd", "agentId"))
            named = (value if isinstance(value, str) else "" for value in (cwd, agent))
            return TranscriptHead(True, session_id, *named)
        is_transcript = is_transcript or _is_record(record)
    return TranscriptHead(is_transcript or (len(data) >= MOST and bool(MESSAGE.search(lines[-1][:FIRST]))))


def _header_id(record: dict[str, Any]) -> str:
    session_id = record.get("id") if record["type"] == "session" else None
    return session_id if isinstance(session_id, str) and SESSION_ID.fullmatch(session_id) else ""


def _is_record(record):
    if record.get("traceSchema") or record["type"] == "session":
        return False
    message = record.get("message")
    if isinstance(message, dict):
        return isinstance(message.get("role"), str)
    has_place = any(isinstance(record.get(name), str) for name in ("id", "parentId", "timestamp"))
    return has_place and record["type"].split(":", 1)[0] in KINDS_BY_TYPE
