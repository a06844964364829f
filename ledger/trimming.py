"""How much of a record is kept in reach: long texts are capped, the rest is kept compressed, nothing twice.

`trim` answers with the JSON to store, what it leaves out, and the whole record packed when something was capped.
"""

from typing import Any

import orjson

from artifacts import packing

from .models import TranscriptEvent

CAP = 8_000  # characters of one text
PLAIN = 8_000  # bytes of a line below which no text in it can be over the cap


def trim(record: dict[str, Any], line: bytes) -> tuple[bytes, str | None, bytes | None]:
    """`(event_json, trim_json, full_zstd)` of a record whose own line is `line`.

    `trim_json` is None, or a JSON object: `aggregated` is the length of a repeated tool output that was left out,
    `capped` lists `[path, characters]` of texts that were cut to CAP. `full_zstd` holds the record as it was
    (without the repeated output) when a text was cut.
    """
    left_out = _drop_repeated_output(record)
    if len(line) <= PLAIN:
        return (line, None, None) if left_out is None else (orjson.dumps(record), _note(left_out, []), None)
    full = orjson.dumps(record) if left_out is not None else line
    capped: list[list[Any]] = []
    record = _cap(record, "", capped)
    if not capped:
        return full, _note(left_out, []), None
    return orjson.dumps(record), _note(left_out, capped), packing.pack(full)


def untrim(event_json: str, full_zstd: bytes | memoryview | None) -> dict[str, Any]:
    """The record as it was, without an output that it repeated."""
    return orjson.loads(packing.unpack(bytes(full_zstd)) if full_zstd else event_json)


def full_record(event: TranscriptEvent) -> dict[str, Any]:
    """The whole record of a row."""
    return untrim(event.event_json, event.full_zstd)


def _drop_repeated_output(record):
    """A command's output stands in the content and again in `details.aggregated`: keep the first."""
    message = record.get("message")
    details = message.get("details") if isinstance(message, dict) else None
    aggregated = details.get("aggregated") if isinstance(details, dict) else None
    if not isinstance(aggregated, str) or not aggregated:
        return None
    content = message.get("content")
    texts = content if isinstance(content, list) else [{"text": content}]
    for block in texts:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and aggregated in text:
            message["details"] = {key: value for key, value in details.items() if key != "aggregated"}
            return len(aggregated)
    return None


def _cap(value, path, capped):
    if isinstance(value, str):
        if len(value) <= CAP:
            return value
        capped.append([path, len(value)])
        return value[:CAP]
    if isinstance(value, dict):
        return {key: _cap(item, f"{path}.{key}" if path else key, capped) for key, item in value.items()}
    if isinstance(value, list):
        return [_cap(item, f"{path}.{index}", capped) for index, item in enumerate(value)]
    return value


def _note(left_out, capped):
    note: dict[str, Any] = {}
    if left_out is not None:
        note["aggregated"] = left_out
    if capped:
        note["capped"] = capped
    return orjson.dumps(note).decode() if note else None
