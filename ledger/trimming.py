"""How much of a record is kept in reach: long texts are capped, the rest is kept compressed, nothing twice.

`trim` answers with the JSON to store, what it leaves out, and the whole record packed when something was capped.
`full_record` puts a record together again, with the outputs that are artifacts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from artifacts import blobs, handles, layout, packing

from .models import TranscriptEvent
from .records import TEXT_BLOCKS as BLOCKS

CAP = 8_000  # characters of one text
PLAIN = 8_000  # bytes of a record below which no text in it can be over the cap


@dataclass(frozen=True, slots=True)
class Stashed:
    """An output that is an artifact: the record has its preview in the place `path`, with `summary` in one line.

    `chars`, `bytes` and `lines` are those of the whole; `secrets` are names of `artifacts.secrets.KINDS`.
    """

    path: str
    handle: str
    chars: int
    bytes: int
    lines: int
    summary: str
    secrets: list[str]


def stashed(trim_json: str | None) -> list[Stashed]:
    """The outputs of a record that are artifacts, in the order of their places; mostly none."""
    notes = orjson.loads(trim_json).get("stashed", ()) if trim_json else ()
    return [Stashed(**note) for note in notes]


Keep = Callable[[str, str], tuple[str, Stashed] | None]


def trim(record: dict[str, Any], line: bytes, keep: Keep | None = None) -> tuple[bytes, str | None, bytes | None]:
    """`(event_json, trim_json, full_zstd)` of a record whose own line is `line`; the record is left as it is.

    `keep(path, text)` is asked about each text of a message: for one that became an artifact it gives the preview that
    takes its place, and a note. `trim_json` is None, or a JSON object: `aggregated` is the length of a repeated
    tool output that was left out, `stashed` holds the notes, `capped` lists `[path, characters]` of texts that were
    cut to CAP. `full_zstd` holds the record as it was (without what was repeated, with the previews) when one was cut.
    """
    told, left_out = _without_repeated_output(record)
    told, notes = _with_previews(told, keep) if keep else (told, [])
    return _trimmed(told, orjson.dumps(told) if told is not record else line, left_out, notes)


def stash_stored(
    record: dict[str, Any], trim_json: str | None, keep: Keep
) -> tuple[bytes, str | None, bytes | None] | None:
    """The columns of `trim` for the whole record of a row with this `trim_json`; None when `keep` wants none of it."""
    told, notes = _with_previews(record, keep)
    left_out = orjson.loads(trim_json).get("aggregated") if trim_json else None
    return _trimmed(told, orjson.dumps(told), left_out, notes) if notes else None


def texts(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a message's content, each with its place in the record (`message.content.0.text`)."""
    content = message.get("content")
    if isinstance(content, str):
        yield "message.content", content
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict) and block.get("type") in BLOCKS and isinstance(text := block.get("text"), str):
            yield f"message.content.{index}.text", text


def untrim(event_json: str, full_zstd: bytes | memoryview | None, trim_json: str | None = None) -> dict[str, Any]:
    """The record as it was, without an output that it repeated.

    Without `trim_json`, outputs that are artifacts are left as their previews. Raises NoSuchArtifact or Damaged
    (both Refused) when one cannot be read or is not what was stashed.
    """
    record = orjson.loads(packing.unpack(bytes(full_zstd)) if full_zstd else event_json)
    for note in stashed(trim_json):
        _put(record, note.path, _content(note))
    return record


def full_record(event: TranscriptEvent) -> dict[str, Any]:
    """The whole record of a row. Raises like `untrim`."""
    return untrim(event.event_json, event.full_zstd, event.trim_json)


def _content(note):
    return blobs.whole(layout.root(), handles.parse(note.handle), expected=note.bytes).decode()


def _put(record, path, text):
    """Set the text of a place as `message.content.0.text` names it."""
    *way, last = path.split(".")
    for name in way:
        record = record[int(name)] if isinstance(record, list) else record[name]
    record[last] = text


def _without_repeated_output(record):
    """A command's output stands in the content and again in `details.aggregated`: keep the first."""
    message = record.get("message")
    details = message.get("details") if isinstance(message, dict) else None
    aggregated = details.get("aggregated") if isinstance(details, dict) else None
    if not isinstance(aggregated, str) or not aggregated:
        return record, None
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and aggregated in text:
            details = {key: value for key, value in details.items() if key != "aggregated"}
            return {**record, "message": {**message, "details": details}}, len(aggregated)
    return record, None


def _with_previews(record, keep):
    """The record with the preview in the place of each text that became an artifact, and the notes of those."""
    message = record.get("message")
    found = [(path, *kept) for path, text in texts(message) if (kept := keep(path, text))] if message else []
    if not found:
        return record, []
    content = message["content"]
    changed = {**record, "message": {**message, "content": content if isinstance(content, str) else [*content]}}
    for path, preview, _note in found:
        if path != "message.content":
            index = int(path.split(".")[2])
            changed["message"]["content"][index] = {**content[index], "text": preview}
        else:
            changed["message"]["content"] = preview
    return changed, [note for *_, note in found]


def _trimmed(record, full, left_out, notes):
    if len(full) <= PLAIN:
        return full, _note(left_out, [], notes), None
    capped: list[list[Any]] = []
    record = _cap(record, "", capped)
    if not capped:
        return full, _note(left_out, [], notes), None
    return orjson.dumps(record), _note(left_out, capped, notes), packing.pack(full)


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


def _note(left_out, capped, stashed):
    note: dict[str, Any] = {}
    if left_out is not None:
        note["aggregated"] = left_out
    if capped:
        note["capped"] = capped
    if stashed:
        note["stashed"] = stashed
    return orjson.dumps(note).decode() if note else None
