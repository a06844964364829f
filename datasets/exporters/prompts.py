"""The system prompt and the tools that a model was given, as columns of rows.

The columns are `system` and `tools` of ShareGPT rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .changes import NO_CHANGES, Changes
from .formats import tools as tool_lists
from .json_output import encode_value
from .samples import ExportSample

SYSTEM, TOOLS = COLUMNS = ("system", "tools")
# Reasons for an empty column, besides those of ledger.collectors.placeholders.
NOT_RECORDED, TOO_LONG, LOST, WITHHELD, FLAGGED = "not_recorded", "too_long", "lost", "withheld", "flagged"


EMPTY = {SYSTEM: "", TOOLS: "[]"}
# Where a column comes from: as it was recorded, the same but with masks for values of the moment, from stored calls.
RECORDED, WITH_PLACEHOLDERS, INFERRED = SOURCES = ("recorded", "with_placeholders", "inferred")


@dataclass(frozen=True, slots=True)
class Part:
    """One column: its text, or why it is empty (`left_out`); `names` are the tools it describes.

    `source`: one of SOURCES; it counts where the column is not empty. `missing`: why an inferred column is not a
    recorded one.
    """

    text: str
    left_out: str = ""
    names: frozenset[str] = frozenset()
    changes: Changes = NO_CHANGES
    source: str = RECORDED
    missing: str = ""


class PromptColumns:
    """Both columns of a row, created once for the rows that share them.

    Without `parts`, the export has no such columns to fill. `changes` apply to every row with these columns; `names`
    are the tools that the row describes.
    """

    __slots__ = ("changes", "names", "parts")

    def __init__(self, parts: Mapping[str, Part] | None = None):
        self.parts = parts or {}
        self.changes: Changes = NO_CHANGES.union(*[part.changes for part in self.parts.values()])
        self.names = self.parts[TOOLS].names if self.parts else frozenset()

    def text(self, column: str) -> str:
        """The text of a column."""
        return self.parts[column].text if self.parts else EMPTY[column]

    def get_source(self, column: str) -> str:
        """Where a column comes from, one of SOURCES; empty for an empty column."""
        part = self.parts.get(column)
        return part.source if part and not part.left_out else ""


NO_PROMPTS = PromptColumns()


def get_no_prompts(sample: ExportSample) -> PromptColumns:
    """Empty columns, whose reason is not counted."""
    return NO_PROMPTS


def build_empty_part(column: str, reason: str) -> Part:
    """An empty column with the reason for it."""
    return Part(EMPTY[column], reason)


def build_empty_columns(reason: str) -> PromptColumns:
    """Both columns empty, for the same reason."""
    return PromptColumns({column: build_empty_part(column, reason) for column in COLUMNS})


def build_system_part(text: str, source: str = RECORDED) -> Part:
    """The column of a system prompt, empty when it is blank."""
    return Part(text, source=source) if text.strip() else build_empty_part(SYSTEM, NOT_RECORDED)


def build_tools_part(tools: Any, source: str = RECORDED) -> Part:
    """The column of a list of tools, empty when it has none. Raises formats.tools.UnknownForm."""
    functions = tool_lists.read_functions(tools)
    if not functions:
        return build_empty_part(TOOLS, NOT_RECORDED)
    try:
        data, cleaned, _ = encode_value(functions)
    except TypeError as exc:  # nested too deeply
        raise tool_lists.UnknownForm from exc
    return Part(data.decode(), names=frozenset(tool["function"]["name"] for tool in cleaned), source=source)
