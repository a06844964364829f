"""Tool schemas as trainers read them: OpenAI's functions, whichever way a tool is described.

LLaMA-Factory reads `parameters.properties` of every tool without asking, joins the values of `enum` as texts and reads
`items` as an object: what it would stop at is no list of tools.
"""

from functools import lru_cache
from typing import Any

import orjson

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
