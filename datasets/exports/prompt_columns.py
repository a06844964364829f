"""The system prompt and the tools that a model was given, as columns of rows.

The columns are `system` and `tools` of ShareGPT rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from ..json_texts import encode_value
from ..sample_texts import ExportSample
from .changes import NO_CHANGES, Changes

SYSTEM, TOOLS = COLUMNS = ("system", "tools")
# Reasons for an empty column, besides those of ledger.collectors.placeholders.
NOT_RECORDED, TOO_LONG, LOST, WITHHELD, FLAGGED = "not_recorded", "too_long", "lost", "withheld", "flagged"
OPTED_OUT = "opted_out"  # of stored files
CALLS_LEFT_OUT = "calls_left_out"  # of tools: a row that calls none would teach to call none


EMPTY = {SYSTEM: "", TOOLS: "[]"}
# Where a column comes from: as it was recorded, the same but with masks for values of the moment, from stored calls,
# from the stored files of the moment.
RECORDED, WITH_PLACEHOLDERS, INFERRED, REBUILT = ("recorded", "with_placeholders", "inferred", "rebuilt")


@dataclass(frozen=True, slots=True)
class Part:
    """One column: its text, or why it is empty (`left_out`); `names` are the tools it describes.

    `source`: where it comes from; it counts where the column is not empty. `missing`: why an inferred or rebuilt column
    is not a recorded one.
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
        """Where a column comes from; empty for an empty column."""
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
    """The column of a list of tools, empty when it has none. Raises UnknownForm."""
    functions = read_functions(tools)
    if not functions:
        return build_empty_part(TOOLS, NOT_RECORDED)
    try:
        data, cleaned, _ = encode_value(functions)
    except TypeError as exc:  # nested too deeply
        raise UnknownForm from exc
    return Part(data.decode(), names=frozenset(tool["function"]["name"] for tool in cleaned), source=source)


SCHEMAS = ("parameters", "input_schema", "inputSchema")  # OpenClaw and OpenAI; Anthropic; MCP
NOTHING = {"type": "object", "properties": {}, "required": []}


class UnknownForm(ValueError):
    """A list of tools is in no form that is known."""


def read_functions(tools: Any) -> list[dict[str, Any]]:
    """Tools of any known spelling as OpenAI's functions, in their order. Raises UnknownForm."""
    if not isinstance(tools, list):
        raise UnknownForm
    schemas = [{"type": "function", "function": _read_function(tool)} for tool in tools]
    if not all(map(is_function, schemas)):
        raise UnknownForm
    return schemas


@lru_cache(maxsize=16)  # rows of a session share their list
def are_functions(value: str) -> bool:
    """Whether a text of the column `tools` is a list of functions that trainers read."""
    try:
        tools = orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tools, list) and all(map(is_function, tools))


def is_function(tool: Any) -> bool:
    """Whether a tool has a name, and parameters whose properties trainers can read."""
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
    if not isinstance(function, dict) or not _is_name(function.get("name")):
        return False
    return isinstance(function.get("description"), str) and _has_readable_properties(function.get("parameters"))


def _has_readable_properties(parameters):
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict) or not isinstance(parameters.get("required", []), list):
        return False
    return all(map(_is_readable, properties.values()))


def _read_function(tool):
    """One tool, whoever described it; without a schema it takes nothing."""
    inner = tool.get("function") if isinstance(tool, dict) else None
    described = inner if isinstance(inner, dict) else tool
    if not isinstance(described, dict) or tool.get("type", "function") not in ("function", "custom"):
        raise UnknownForm
    schema = next((described[name] for name in SCHEMAS if described.get(name) is not None), NOTHING)
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise UnknownForm
    return {
        "name": described.get("name"),
        "description": described.get("description") or "",
        "parameters": {**NOTHING, **schema, "properties": _read_properties(schema)},
    }


def _read_properties(schema):
    """The properties of a schema; one that may be anything (`true`) is described by nothing."""
    properties = schema.get("properties") or {}
    if not isinstance(properties, dict):
        raise UnknownForm
    return {name: {} if prop is True else prop for name, prop in properties.items()}


def _is_name(name):
    return isinstance(name, str) and bool(name.strip())


def _is_readable(prop):
    """Whether a trainer can describe a property to a model."""
    if not isinstance(prop, dict) or not isinstance(prop.get("items") or {}, dict):
        return False
    values = prop.get("enum") or []
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
