"""Reads the answer of a model endpoint, whose JSON may hold values of any type."""

import json
from dataclasses import dataclass
from typing import Any

import orjson

LONGEST_MODEL = 200  # characters of a model's name
MOST_CALLS = 20  # tool calls in one answer
UNSAID = ("thinking", "reasoning")  # types of parts that do not belong to the text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a model requests.

    `arguments` is the text of the model, which should be JSON.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model: text, tool calls, usage and the whole body.

    `model` is the model that answered, as the endpoint names it. `body` is the whole answer, up to 1 MB. With `calls`
    the text may be empty.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None  # as reported by the endpoint, not computed from prices
    latency_ms: int
    body: str
    calls: tuple[ToolCall, ...] = ()


class NotJson(Exception):
    """A body that is no JSON."""


def loads(body: bytes | bytearray) -> Any:
    """The value of a JSON body. Raises NotJson."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    raise NotJson  # raised here, so that no traceback holds the body


def parse_strictly(text: str) -> Any:
    """The value of a JSON text that a model wrote; None when it is not valid or repeats a name."""
    try:
        orjson.loads(text)  # rejects invalid Unicode and endless nesting
        return json.loads(text, object_pairs_hook=_build_unique)
    except (ValueError, RecursionError):
        return None


def _build_unique(pairs):
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values


def read_text(answer: Any) -> str | None:
    """The text of the first choice; None when it is empty, or a tool call."""
    message = _get(_first(_get(answer, "choices")), "message")
    if _get(message, "tool_calls") or _get(message, "function_call"):
        return None
    content = _get(message, "content")
    text = _join_text(content) if isinstance(content, list) else content
    return text if isinstance(text, str) and text.strip() else None


def read_tool_calls(answer: Any) -> tuple[ToolCall, ...]:
    """The tool calls of the first choice.

    A call that is not one of a function has an empty name and empty arguments.
    """
    values = _get(_get(_first(_get(answer, "choices")), "message"), "tool_calls")
    return tuple(map(_read_call, values[:MOST_CALLS])) if isinstance(values, list) else ()


def read_model(answer: Any, requested: str) -> str:
    """The name of the model that answered; `requested` when the answer names none."""
    name = _get(answer, "model")
    return name[:LONGEST_MODEL] if isinstance(name, str) and name else requested


def _read_call(value):
    function = _get(value, "function")
    values = (_get(value, "id"), _get(function, "name"), _get(function, "arguments"))
    return ToolCall(*(text if isinstance(text, str) else "" for text in values))


def _get(value, key):
    return value.get(key) if isinstance(value, dict) else None


def _first(value):
    return value[0] if isinstance(value, list) and value else None


def _join_text(parts):
    """The text of a list of parts; None when one is neither text nor thinking."""
    spoken_parts = [part for part in parts if _get(part, "type") not in UNSAID]
    texts = [
        part["text"] for part in spoken_parts if _get(part, "type") == "text" and isinstance(part.get("text"), str)
    ]
    return "".join(texts) if len(texts) == len(spoken_parts) else None
