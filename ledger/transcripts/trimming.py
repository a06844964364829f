"""Caps long texts of records and compresses the rest, so that each is stored once.

`trim` returns the JSON to store, what it leaves out, and the compressed rests of capped texts. `full_record` puts a
record together again, with the outputs that are artifacts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from artifacts import handles
from artifacts.store import blobs, layout
from openclaw_web.disk import packing
from openclaw_web.sqlite.json_columns import decode, encode

from ..collectors.envelopes import without_repeated_output
from ..collectors.records import KINDS_BY_ROLE, is_text_block
from ..models import TranscriptEvent

CAP = 8_000  # characters of one text; a record of no more bytes has none that is longer
# Results of tools are most of a store: the longest text that stays whole, and how much of a longer one is kept.
RESULT_CAP, RESULT_KEPT = 2_000, 1_000
ANSWER = ("message", "content")


@dataclass(frozen=True, slots=True)
class StashedOutput:
    """An output that is an artifact; the record has its preview in the place `path`.

    `summary` is one line. `chars`, `bytes` and `lines` are those of the whole output; `secrets` are names of
    `artifacts.contents.secrets.KINDS`.
    """

    path: str
    handle: str
    chars: int
    bytes: int
    lines: int
    summary: str
    secrets: list[str]


def parse_stashed(trim_json: str | None) -> list[StashedOutput]:
    """The outputs of a record that are artifacts, in the order of their places.

    Most notes have none, which a search for the word tells without parsing them.
    """
    if not trim_json or '"stashed"' not in trim_json:
        return []
    return [StashedOutput(**note) for note in decode(trim_json).get("stashed", ())]


Keep = Callable[[str, str], tuple[str, StashedOutput] | None]
Rest = tuple[tuple[str | int, ...], int, int, str]  # a text's place, how much is kept of it, where the rest begins


def trim(record: dict[str, Any], line: bytes, keep: Keep | None = None) -> tuple[bytes, str | None, bytes | None]:
    """`(event_json, trim_json, full_zstd)` of a record whose line is `line`.

    The record is not changed. `keep(path, text)` is called for each text of a message: for one that became an artifact
    it returns the preview that takes its place, and a note. `trim_json` is None, or a JSON object: `aggregated` is the
    length of a repeated tool output that was left out, `stashed` holds the notes, `capped` lists `[path, characters,
    characters kept]` of texts that were cut. `full_zstd` holds the rests of those.
    """
    trimmed, left_out = without_repeated_output(record)
    trimmed, notes = _replace_texts(trimmed, keep) if keep else (trimmed, [])
    return _cap_record(trimmed, orjson.dumps(trimmed) if trimmed is not record else line, left_out, notes)


def find_texts(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a message's content, each with its place (`message.content.0.text`)."""
    content = message.get("content")
    if isinstance(content, str):
        yield "message.content", content
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if is_text_block(block) and isinstance(text := block.get("text"), str):
            yield f"message.content.{index}.text", text


def untrim(event_json: str, full_zstd: bytes | memoryview | None, trim_json: str | None = None) -> dict[str, Any]:
    """The record as it was, without an output that it repeated.

    Without `trim_json`, outputs that are artifacts are left as their previews. Raises NoSuchArtifact or DamagedArtifact
    (both Refused) when one cannot be read or is not what was stashed, and ValueError for what is no JSON: what is
    compared, archived or exported is the record itself.
    """
    record = orjson.loads(event_json)
    if full_zstd:
        # The record with its capped texts whole again.
        rests = orjson.loads(packing.unpack(bytes(full_zstd)))
        for (*parents, last), begin, text in rests:
            place = _get_at(record, parents)
            place[last] = place[last][:begin] + text
    for note in parse_stashed(trim_json):
        *parents, last = note.path.split(".")
        _get_at(record, parents)[last] = _read_content(note)
    return record


def parse_cuts(trim_json: str | None) -> Iterator[tuple[str, int]]:
    """The texts of a record that were cut: `(place, characters that are left out)`."""
    for path, length, kept_length in decode(trim_json).get("capped", ()):
        yield path, length - kept_length


def parse_repeated_length(trim_json: str | None) -> int | None:
    """The length of a repeated output that was left out of a record, or None."""
    return decode(trim_json).get("aggregated")


def get_text(record: dict[str, Any], path: str) -> str:
    """The text of a place that `message.content.0.text` names."""
    return _get_at(record, path.split("."))


def full_record(event: TranscriptEvent) -> dict[str, Any]:
    """The whole record of a row. Raises like `untrim`."""
    return untrim(event.event_json, event.full_zstd, event.trim_json)


def _read_content(note):
    return blobs.read_whole(layout.get_root(), handles.parse(note.handle), expected=note.bytes).decode()


def _get_at(value, path):
    for name in path:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def _replace_texts(record, keep):
    """The record with previews in place of texts that became artifacts, and their notes."""
    message = record.get("message")
    replaced = (
        [(path, *replacement) for path, text in find_texts(message) if (replacement := keep(path, text))]
        if message
        else []
    )
    if not replaced:
        return record, []
    content = message["content"]
    changed = {**record, "message": {**message, "content": content if isinstance(content, str) else [*content]}}
    for path, preview, _notes in replaced:
        if path != "message.content":
            index = int(path.split(".")[2])
            changed["message"]["content"][index] = {**content[index], "text": preview}
        else:
            changed["message"]["content"] = preview
    return changed, [note for *_, note in replaced]


def _cap_record(record, full, left_out, notes):
    is_result = len(full) > RESULT_CAP and _is_result(record.get("message"))
    if not is_result and len(full) <= CAP:
        return full, _encode_note(left_out, [], notes), None
    rests: list[Rest] = []
    record = _cap_value(record, (), rests, is_result)
    if not rests:
        return full, _encode_note(left_out, [], notes), None
    capped = [[".".join(map(str, path)), begin + len(text), kept_length] for path, kept_length, begin, text in rests]
    packed = packing.pack(orjson.dumps([[path, begin, text] for path, _kept_length, begin, text in rests]))
    return orjson.dumps(record), _encode_note(left_out, capped, notes), packed


def _is_result(message):
    role = message.get("role") if isinstance(message, dict) else None
    return isinstance(role, str) and KINDS_BY_ROLE.get(role) == "tool_result"


def _cap_value(value, path, rests, is_result):
    if isinstance(value, str):
        cap, kept_length = (RESULT_CAP, RESULT_KEPT) if is_result and path[:2] == ANSWER else (CAP, CAP)
        if len(value) <= cap:
            return value
        begin = kept_length - handles.LENGTH  # a handle at the cut is whole in the rest, for searches
        rests.append((path, kept_length, begin, value[begin:]))
        return value[:kept_length]
    if isinstance(value, dict):
        return {key: _cap_value(item, (*path, key), rests, is_result) for key, item in value.items()}
    if isinstance(value, list):
        return [_cap_value(item, (*path, index), rests, is_result) for index, item in enumerate(value)]
    return value


def _encode_note(left_out, capped, stashed):
    note: dict[str, Any] = {}
    if left_out is not None:
        note["aggregated"] = left_out
    if capped:
        note["capped"] = capped
    if stashed:
        note["stashed"] = stashed
    return encode(note) if note else None
