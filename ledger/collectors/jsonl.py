"""Reads the lines of a JSONL file as records, each with its place.

A line without a record has a reason. No Django.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from json import JSONDecoder
from typing import Any, BinaryIO

import orjson

MAX_LINE = 16 * 1024 * 1024
WITHHELD = "openclawWebWithheld"  # marks the place of a record that another machine withheld
BOM = b"\xef\xbb\xbf"
# How a record of a transcript begins: inside of a text its quotes would have backslashes.
RECORD = re.compile(
    rb'\{\s*"type"\s*:\s*"(?:message|session|compaction|branch_summary|model_change|thinking_level_change|custom|'
    rb'custom_message|label|session_info|reset|leaf|usage)"'
)
MOST_ON_A_LINE = 1_000
MAX_DEPTH = 200  # deeper values could not be written as JSON again, or walked through without running out of stack
LONE_SURROGATE = re.compile(
    rb"(?i)(?<!\\)((?:\\\\)*)(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2})"
)


@dataclass(slots=True)
class Line:
    """One line from byte `offset` up to `end`: a record, or the reason for none."""

    offset: int
    end: int
    raw: bytes
    record: dict[str, Any] | None = None
    reason: str = ""
    detail: str = ""
    is_withheld: bool = False  # has only the place of a record that was withheld
    before: Any = None  # of a stored record that no source has: as `before` of `rows.build_row`


def read_lines(
    file: BinaryIO, offset: int = 0, *, is_closed: bool = False, take: Callable[[bytes], object] = len
) -> Iterator[Line]:
    """The lines from byte `offset` on, without empty ones.

    `take` is called with all bytes that are read, in pieces. A last line without its newline is a writer at work: it is
    left for the next time, unless it already is a whole record or `is_closed` says that nobody writes this file any
    more.
    """
    file.seek(offset)
    while raw := file.readline(MAX_LINE):
        start, offset = offset, offset + len(raw)
        ended = raw.endswith(b"\n")
        if not ended and len(raw) == MAX_LINE:
            take(raw)
            offset += _skip_line(file, take)
            yield Line(start, offset, raw[:4096], reason="too_long", detail=f"over {MAX_LINE} bytes")
            continue
        text = raw.strip()
        if not text:
            take(raw)
            continue
        line = parse_line(Line(start, offset, text))
        if not ended and line.record is None and not is_closed:
            return
        take(raw)
        yield from [line] if line.record is not None else recover_records(line)


def recover_records(line: Line) -> list[Line]:
    """The whole records on a damaged line, each with its place, and between them what is lost.

    A crash leaves NUL bytes, half a record or no line break before the next record. Without a whole record the line
    stays as it is.
    """
    starts = [match.start() for match in islice(RECORD.finditer(line.raw), MOST_ON_A_LINE)]
    pieces: list[Line] = []
    for start, end in pairwise([*({0, *starts} if starts else ()), len(line.raw)]):
        piece = Line(line.offset + start, line.offset + end, line.raw[start:end].strip(b"\x00 \t\r"))
        parse_line(piece)
        if piece.record is None and piece.raw.startswith(b"{"):
            _cut_after_record(piece)
        if piece.record is not None and not _is_named(piece.record):  # a value inside of the record that was lost
            piece.record, piece.reason, piece.detail = None, "truncated", ""
        if piece.raw or start == 0:
            pieces.append(piece)
    if not any(piece.record for piece in pieces):
        return [line]
    pieces[-1].end = line.end
    for piece in pieces:
        if not piece.raw:
            piece.raw, piece.reason, piece.detail = line.raw[:1], line.reason, line.detail
    return pieces


def _cut_after_record(piece):
    """Read the record that a piece begins with, where bytes of another one follow it."""
    try:
        _value, length = JSONDecoder().raw_decode(piece.raw.decode())
    except (ValueError, RecursionError):
        return
    whole = Line(piece.offset, piece.end, piece.raw.decode()[:length].encode())
    if parse_line(whole).record is not None:
        piece.raw, piece.record, piece.reason, piece.detail = whole.raw, whole.record, "", ""


def _is_named(record):
    """Whether a record has its own place: the id and the time that every record of a transcript has."""
    return isinstance(record.get("id"), str) and "timestamp" in record


def parse_line(line: Line, *, is_typed: bool = True) -> Line:
    """Fill in the record of a line, or the reason why it has none.

    Records of `is_typed` formats have a `type`.
    """
    try:
        record = orjson.loads(line.raw)
    except orjson.JSONDecodeError as exc:
        if (mended := _mend(line.raw)) is None:
            line.reason, line.detail = _explain(line.raw, exc)
            return line
        line.raw, record = mended
    if not isinstance(record, dict):
        line.reason, line.detail = "not_an_object", type(record).__name__
    elif is_typed and (not isinstance(record.get("type"), str) or not record["type"]):
        line.reason = "missing_type"
    elif is_too_deep(line.raw, record):
        line.reason, line.detail = "too_deep", f"nested more than {MAX_DEPTH} times"
    else:
        line.record = record
        line.is_withheld = record.get(WITHHELD) is True
    return line


def _mend(raw):
    """The text and its value without a byte order mark and half characters, or None.

    None means that these were not the fault. JavaScript writes half an emoji as `\\ud83d`; no UTF-8 text can hold it,
    so it becomes U+FFFD.
    """
    has_bom = raw.startswith(BOM)
    raw = raw.removeprefix(BOM).lstrip()
    if not has_bom and b"\\u" not in raw:
        return None
    mended = LONE_SURROGATE.sub(lambda match: match[1] + (match[2] or rb"\ufffd"), raw)
    try:
        return mended, orjson.loads(mended)
    except orjson.JSONDecodeError:
        return None


def is_too_deep(raw: bytes, value: Any) -> bool:
    """Whether containers are nested more than MAX_DEPTH times.

    They are checked level by level, because recursion could run out of stack.
    """
    if len(raw) <= 2 * MAX_DEPTH or raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return False


def load_object(data: bytes) -> dict[str, Any]:
    """The JSON object that a whole file holds.

    Raises ValueError for anything else, and for an object that is nested too deeply.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if (mended := _mend(data)) is None:
            raise
        data, value = mended
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if is_too_deep(data, value):
        raise ValueError(f"nested more than {MAX_DEPTH} times")
    return value


def _explain(raw, exc):
    if b"\x00" in raw:
        return "nul_bytes", f"{raw.count(0)} NUL bytes"
    try:
        raw.decode()
    except UnicodeDecodeError as bad:
        return "not_utf8", f"byte {bad.start}"
    if "depth limit" in str(exc):
        return "too_deep", str(exc)
    if "infinity" in str(exc):
        return "absurd_number", str(exc)
    if raw.startswith(b"{") and b"}{" in raw and "after document" in str(exc):
        return "glued", str(exc)
    if raw.startswith(b"{") and not raw.endswith(b"}"):
        return "truncated", str(exc)
    return "not_json", str(exc)


def _skip_line(file, take):
    skipped = 0
    while piece := file.readline(MAX_LINE):
        take(piece)
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped
