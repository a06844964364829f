"""Rows of training files as a page shows them: who says what, what is not learned, and the same as plain JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ...exporters.token_estimate import EIGHTHS, estimate_total_weight
from ...exporters.training_rows import CONVERSATIONS, STORED
from .lines import Line

# Characters of a text, of a row, and messages of a row: as one of ten, and alone.
BRIEF, WHOLE = (1_500, 20_000, 40), (20_000, 200_000, 400)
RAW = 200_000
MOST_INDENTED = 100_000  # bytes of a row: what is nested deeply is many times as long with its indents
TONES = {
    **dict.fromkeys(("human", "user", "instruction", "input", "prompt", "user_message"), "user"),
    **dict.fromkeys(("gpt", "assistant", "output", "completion", "response", "chosen", "rejected"), "agent"),
    **dict.fromkeys(("agent_reply", "edited_reply"), "agent"),
    **dict.fromkeys(("function_call", "observation", "tool"), "tool"),
}
ROLE_KEYS, TEXT_KEYS = ("from", "role"), ("value", "content")
MARKS = ("train", "weight")  # what says whether a message is learned
SAID = {exporter.SPELLING.column for exporter in CONVERSATIONS.values()}
IDS = {"raw": "id", "csv": "sample_id"}


@dataclass(slots=True)
class Part:
    """Something that is said in a row; `name` is the file's own word for who. `left_out`: characters not shown."""

    name: str
    text: str
    is_masked: bool = False
    left_out: int = 0

    @property
    def tone(self) -> str:
        """Whose colour it has in transcripts."""
        return TONES.get(self.name, "system")


@dataclass(slots=True)
class RowView:
    """One row of the file."""

    number: int
    sample_id: str
    characters: int
    tokens: int
    parts: list[Part] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)  # the other columns
    hidden: int = 0  # parts that are not shown
    raw: str = ""
    is_table: bool = False  # a sample as it is stored: columns instead of messages

    @property
    def has_masked(self) -> bool:
        """Whether something in it is not learned."""
        return any(part.is_masked for part in self.parts)


def build_row_view(line: Line, kind: str = "", *, is_alone: bool = False) -> RowView:
    """A row of the file of an export in the format `kind`. Raises Refused when the line is none any more."""
    row, about = line.row, line.about
    sample = _sample(row, kind) or _sample(about, kind)
    if is_table := kind in STORED:
        texts = [_text(value) for value in row.values()]
        parts, facts = list(_columns(row, kind)), [("sample_id", sample)]
    else:
        parts, facts = list(_parts(row)), [*_facts(row), *_facts(about)]
        texts = [part.text for part in parts]
    found = RowView(
        line.number, sample, sum(map(len, texts)), estimate_total_weight(texts) // EIGHTHS, is_table=is_table
    )
    found.parts, found.facts = _within(parts, WHOLE if is_alone else BRIEF), facts
    found.hidden = len(parts) - len(found.parts)
    if is_alone:
        found.raw = _raw(line, row)
    return found


def _raw(line, row):
    """The row as the file has it; with line breaks where these do not make much more of it."""
    if line.is_csv or len(line.data) > MOST_INDENTED:
        return line.data.decode("utf-8", "replace")
    return orjson.dumps(row, option=orjson.OPT_INDENT_2).decode()


def _parts(row) -> Iterator[Part]:
    for name, value in row.items():
        if isinstance(value, list) and name in SAID:
            yield from (_said(message) for message in value if isinstance(message, dict))
        elif isinstance(value, str) and name in TONES and value:
            yield Part(name, value)


def _columns(row, kind) -> Iterator[Part]:
    """Every column of a table that has anything in it."""
    for name, value in row.items():
        if name != IDS[kind] and (text := _text(value)):
            yield Part(name, text)


def _facts(row):
    for name, value in row.items():
        if name not in SAID and name not in TONES:
            yield name, _text(value)[: BRIEF[0]]


def _said(message: dict[str, Any]) -> Part:
    name = next((_text(message[key]) for key in ROLE_KEYS if key in message), "")
    text = next((_text(message[key]) for key in TEXT_KEYS if message.get(key) is not None), "")
    more = {key: value for key, value in message.items() if key not in (*ROLE_KEYS, *TEXT_KEYS, *MARKS)}
    if more:
        text = "\n".join(filter(None, (text, _text(more))))
    return Part(name, text, any(message.get(key, True) in (False, 0) for key in MARKS))


def _within(parts, limits):
    """The first parts that have room on a page, their texts cut."""
    longest, room, most = limits
    found = []
    for part in parts[:most]:
        length = min(len(part.text), longest, room)
        if not length and part.text:
            break
        room -= length
        found.append(Part(part.name, part.text[:length], part.is_masked, len(part.text) - length))
    return found


def _sample(row, kind):
    value = row.get(IDS.get(kind, "sample_id"))
    return value if isinstance(value, str) else ""


def _text(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
