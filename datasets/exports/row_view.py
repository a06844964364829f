"""Rows of training files as a page shows them.

A view says who speaks and what is not learned, and has the row as plain JSON.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..markers import TOKEN
from .exchanges import EIGHTHS, estimate_total_weight
from .formats import FORMATS
from .row_files import Line

# Characters of a text, of a row, and messages of a row: as one of ten, and alone.
BRIEF, WHOLE = (1_500, 20_000, 40), (20_000, 200_000, 400)
RAW = 200_000
MOST_INDENTED = 100_000  # bytes of a row: what is nested deeply is many times as long with its indents
TONES = {
    **dict.fromkeys(("human", "user", "instruction", "input", "prompt", "user_message"), "user"),
    **dict.fromkeys(("gpt", "assistant", "output", "completion", "response", "chosen", "rejected"), "agent"),
    **dict.fromkeys(("preferred_output", "non_preferred_output"), "agent"),
    **dict.fromkeys(("agent_reply", "edited_reply"), "agent"),
    **dict.fromkeys(("function_call", "observation", "tool"), "tool"),
}
ROLE_KEYS, TEXT_KEYS = ("from", "role"), ("value", "content")
MARKS = ("train", "weight")  # keys that say whether a message is learned
MESSAGE_COLUMNS = {facts.lists[0] for facts in FORMATS.values() if facts.dialect}
IDS = {"raw": "id", "csv": "sample_id"}


@dataclass(slots=True)
class Part:
    """A text of a row.

    `name` is the file's own word for the speaker. `left_out`: characters that are not shown.
    """

    name: str
    text: str
    is_masked: bool = False
    left_out: int = 0

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """Its text in pieces, each with whether it stands for a redacted value."""
        return split_tokens(self.text)

    @property
    def tone(self) -> str:
        """The colour of its speaker in transcripts."""
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

    @staticmethod
    def mark(text: str) -> list[tuple[str, bool]]:
        """A text of another column in pieces, like those of its parts."""
        return split_tokens(text)

    @property
    def question(self) -> list[tuple[str, bool]]:
        """The last question as the file has it, in pieces like those of its parts."""
        return next((part.pieces for part in reversed(self.parts) if part.tone == "user" and part.text), [])

    @property
    def has_masked(self) -> bool:
        """Whether something in it is not learned."""
        return any(part.is_masked for part in self.parts)


def split_tokens(text: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is a token such as `[EMAIL_1]`."""
    pieces, end = [], 0
    for match in TOKEN.finditer(text):
        pieces += [(text[end : match.start()], False), (match[0], True)]
        end = match.end()
    return [piece for piece in (*pieces, (text[end:], False)) if piece[0]]


def build_row_view(line: Line, kind: str = "", *, is_alone: bool = False) -> RowView:
    """The view of a row, in a file of the format `kind`.

    Raises Refused when the line is no row any more.
    """
    row, source_columns = line.row, line.source_columns
    sample = _find_sample_id(row, kind) or _find_sample_id(source_columns, kind)
    if is_table := kind in FORMATS and FORMATS[kind].is_stored:
        texts = [_format_text(value) for value in row.values()]
        parts, facts = list(_build_column_parts(row, kind)), [("sample_id", sample)]
    else:
        parts, facts = list(_build_parts(row)), [*_list_facts(row), *_list_facts(source_columns)]
        texts = [part.text for part in parts]
    view = RowView(
        line.number, sample, sum(map(len, texts)), estimate_total_weight(texts) // EIGHTHS, is_table=is_table
    )
    view.parts, view.facts = _cut_parts(parts, WHOLE if is_alone else BRIEF), facts
    view.hidden = len(parts) - len(view.parts)
    if is_alone:
        view.raw = _format_raw(line, row)
    return view


def _format_raw(line, row):
    """The row as the file has it.

    With line breaks, unless these would make it many times as long.
    """
    if line.is_csv or len(line.data) > MOST_INDENTED:
        return line.data.decode("utf-8", "replace")
    return orjson.dumps(row, option=orjson.OPT_INDENT_2).decode()


def _build_parts(row) -> Iterator[Part]:
    for name, value in row.items():
        if isinstance(value, dict) and isinstance(value.get("messages"), list):  # the input of OpenAI's pairs
            value = value["messages"]
        if isinstance(value, list) and name in MESSAGE_COLUMNS:
            yield from (_build_message_part(message) for message in value if isinstance(message, dict))
        elif (answer := _find_answer(value)) is not None:
            yield Part(name, answer)
        elif isinstance(value, str) and name in TONES and value:
            yield Part(name, value)


def _build_column_parts(row, kind) -> Iterator[Part]:
    """Every column of a table that has anything in it."""
    for name, value in row.items():
        if name != IDS[kind] and (text := _format_text(value)):
            yield Part(name, text)


def _find_answer(value):
    """The text of an answer that is a message, alone or in a list.

    None for anything else."""
    message = value[0] if isinstance(value, list) and len(value) == 1 else value
    texts = [message[key] for key in TEXT_KEYS if key in message] if isinstance(message, dict) else []
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else None


def _list_facts(row):
    for name, value in row.items():
        if name not in MESSAGE_COLUMNS and name not in TONES:
            yield name, _format_text(value)[: BRIEF[0]]


def _build_message_part(message: dict[str, Any]) -> Part:
    name = next((_format_text(message[key]) for key in ROLE_KEYS if key in message), "")
    text = next((_format_text(message[key]) for key in TEXT_KEYS if message.get(key) is not None), "")
    more = {key: value for key, value in message.items() if key not in (*ROLE_KEYS, *TEXT_KEYS, *MARKS)}
    if more:
        text = "\n".join(filter(None, (text, _format_text(more))))
    return Part(name, text, any(message.get(key, True) in (False, 0) for key in MARKS))


def _cut_parts(parts, limits):
    """The first parts that have room on a page, their texts cut."""
    longest, room, most = limits
    fitting_parts = []
    for part in parts[:most]:
        length = min(len(part.text), longest, room)
        if not length and part.text:
            break
        room -= length
        fitting_parts.append(Part(part.name, part.text[:length], part.is_masked, len(part.text) - length))
    return fitting_parts


def _find_sample_id(row, kind):
    value = row.get(IDS.get(kind, "sample_id"))
    return value if isinstance(value, str) else ""


def _format_text(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
