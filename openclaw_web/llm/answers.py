"""The answer of an endpoint, read from JSON in which any value may be of any type."""

from dataclasses import dataclass
from typing import Any

import orjson

LONGEST_MODEL = 200  # characters of a name
MOST_CALLS = 20  # of tools, in one answer
UNSAID = ("thinking", "reasoning")  # parts that are no part of what the model says


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants to have used. `arguments` is what it wrote: JSON, if it kept to the rules."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. `model` is who answered, as the endpoint names it; `body` is the whole answer, up to 1 MB.

    `calls` are the tools that it wants used, where it was offered some; the text may then be empty.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None  # as the endpoint says, not as prices say
    latency_ms: int
    body: str
    calls: tuple[ToolCall, ...] = ()


class NotJson(Exception):
    """A body that is no JSON."""


def loads(body: bytes | bytearray) -> Any:
    """The value of a body. Raises NotJson."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    raise NotJson  # out here, so that no traceback leads to what was read


def read_text(answer: Any) -> str | None:
    """What the model says in its first choice; None when that is nothing, or a call of a tool."""
    message = _get(_first(_get(answer, "choices")), "message")
    if _get(message, "tool_calls") or _get(message, "function_call"):
        return None
    content = _get(message, "content")
    text = _joined(content) if isinstance(content, list) else content
    return text if isinstance(text, str) and text.strip() else None


def read_tool_calls(answer: Any) -> tuple[ToolCall, ...]:
    """The tools that the first choice wants used; what is no call of a function has no name and no arguments."""
    called = _get(_get(_first(_get(answer, "choices")), "message"), "tool_calls")
    return tuple(map(_call, called[:MOST_CALLS])) if isinstance(called, list) else ()


def read_model(answer: Any, asked: str) -> str:
    """The name of the model that answered; the one that was asked when the answer names none."""
    name = _get(answer, "model")
    return name[:LONGEST_MODEL] if isinstance(name, str) and name else asked


def _call(value):
    function = _get(value, "function")
    said = (_get(value, "id"), _get(function, "name"), _get(function, "arguments"))
    return ToolCall(*(one if isinstance(one, str) else "" for one in said))


def _get(value, key):
    return value.get(key) if isinstance(value, dict) else None


def _first(value):
    return value[0] if isinstance(value, list) and value else None


def _joined(parts):
    """The text of a list of parts; None when one is neither text nor thought."""
    said = [part for part in parts if _get(part, "type") not in UNSAID]
    texts = [part["text"] for part in said if _get(part, "type") == "text" and isinstance(part.get("text"), str)]
    return "".join(texts) if len(texts) == len(said) else None
