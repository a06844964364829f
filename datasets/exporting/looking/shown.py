"""Rows of training files as a page shows them: who says what, what is not learned, and the same as plain JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ...exporters.weights import EIGHTHS, weight_of_all
from .rows import Line

# Characters of a text, of a row, and messages of a row: as one of ten, and alone.
BRIEF, WHOLE = (1_500, 20_000, 40), (20_000, 200_000, 400)
RAW = 200_000
TONES = {
    **dict.fromkeys(("human", "user", "instruction", "input", "prompt"), "user"),
    **dict.fromkeys(("gpt", "assistant", "output", "completion", "response", "chosen", "rejected"), "agent"),
    **dict.fromkeys(("function_call", "observation", "tool"), "tool"),
}
ROLE_KEYS, TEXT_KEYS = ("from", "role"), ("value", "content")
MARKS = ("train", "weight")  # what says whether a message is learned


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
class ShownRow:
    """One row of the file."""

    number: int
    sample_id: str
    characters: int
    tokens: int
    parts: list[Part] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)  # the other columns
    hidden: int = 0  # parts that are not shown
    raw: str = ""

    @property
    def has_masked(self) -> bool:
        """Whether something in it is not learned."""
        return any(part.is_masked for part in self.parts)


def shown(line: Line, *, is_alone: bool = False) -> ShownRow:
    """A row of the file. Raises Refused when the line is none any more."""
    row = line.row
    parts, facts = list(_parts(row)), list(_facts(row))
    texts = [part.text for part in parts]
    found = ShownRow(line.number, _sample(row), sum(map(len, texts)), weight_of_all(texts) // EIGHTHS)
    found.parts, found.facts = _within(parts, WHOLE if is_alone else BRIEF), facts
    found.hidden = len(parts) - len(found.parts)
    if is_alone:
        found.raw = orjson.dumps(row, option=orjson.OPT_INDENT_2).decode()
    return found


def _parts(row) -> Iterator[Part]:
    for name, value in row.items():
        if isinstance(value, list):
            yield from (_said(message) for message in value if isinstance(message, dict))
        elif isinstance(value, str) and name in TONES and value:
            yield Part(name, value)


def _facts(row):
    for name, value in row.items():
        if not isinstance(value, list) and name not in TONES:
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


def _sample(row):
    known = row.get("sample_id", row.get("id"))
    return known if isinstance(known, str) else ""


def _text(value):
    return value if isinstance(value, str) else orjson.dumps(value).decode()
