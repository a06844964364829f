"""Reads the tool call of a model's answer.

A tool may be called, or written as one JSON object where an endpoint knows no tools. Unknown arguments are ignored; of
an answer that calls several tools nothing is carried out.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

from gate.runner.answer_parsing import FENCED
from openclaw_web.llm.client import Answer

from .prompts import READ, REFUSE, WRITE

ARGUMENTS = {READ: ("file",), WRITE: ("file", "content"), REFUSE: ("reason",)}
MOST_NAME, MOST_ECHO = 60, 2_000  # characters


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool and its arguments, all of them texts.

    With a `fault`, which is a sentence for the model, the call cannot be carried out.
    """

    tool: str
    arguments: dict[str, str] = field(default_factory=dict)
    call_id: str = ""  # empty: it was written as a text
    fault: str = ""


def parse_answer(answer: Answer) -> ToolCall:
    """Return the tool call of an answer.

    Raises nothing: a call that cannot be carried out has a `fault`.
    """
    if len(answer.calls) > 1:
        return ToolCall("", fault="Nothing was done: use one tool at a time.")
    if answer.calls:
        call = answer.calls[0]
        return _build_call(call.name, _parse_object(call.arguments), call.id)
    whole = answer.text.strip()
    fenced = FENCED.fullmatch(whole)
    value = _parse_object(fenced[1] if fenced else whole)
    name = value.get("tool") if value else None
    if not isinstance(name, str):
        return ToolCall("", fault="Use one of the tools read, write and refuse, or answer with one JSON object.")
    return _build_call(name, value, "")


def build_reply_messages(answer: Answer, tool_call: ToolCall, tool_answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the messages that repeat a tool call and its result to the model."""
    result = orjson.dumps(tool_answer).decode()
    if tool_call.fault or not tool_call.call_id:
        text = answer.text.strip()[:MOST_ECHO] or "(a call that cannot be carried out)"
        return [{"role": "assistant", "content": text}, {"role": "user", "content": result}]
    arguments = {name: value if len(value) <= MOST_ECHO else "…" for name, value in tool_call.arguments.items()}
    function = {"name": tool_call.tool, "arguments": orjson.dumps(arguments).decode()}
    call = {"id": tool_call.call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": tool_call.call_id, "content": result},
    ]


def _build_call(name, value, call_id) -> ToolCall:
    if name not in ARGUMENTS:
        return ToolCall(name[:MOST_NAME], fault="There is no such tool. Use read, write or refuse.")
    if value is None:
        return ToolCall(name, fault="The arguments must be one JSON object.")
    arguments = {key: value.get(key) for key in ARGUMENTS[name]}
    for key, argument in arguments.items():
        if not isinstance(argument, str) or not (argument.strip() or key == "content"):
            texts = {known: text for known, text in arguments.items() if isinstance(text, str)}
            return ToolCall(name, texts, call_id, f'"{key}" must be a text.')
    return ToolCall(name, arguments, call_id)


def _parse_object(text):
    """Parse the object of a JSON text; None if invalid or with repeated names."""
    try:
        orjson.loads(text)  # refuses what no database takes, and what is nested without end
        value = json.loads(text, object_pairs_hook=_refuse_repeated_names)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_repeated_names(pairs):
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values
