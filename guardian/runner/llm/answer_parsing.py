"""What a model wants: one of three tools with its arguments, or something that is carried out by nobody.

A tool may be called, or spelled as one JSON object where an endpoint knows no tools. Names that nobody asked for are
ignored; of an answer that wants several tools nothing is carried out.
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
    """A tool and its arguments, all of them texts; or, with a `fault` for the model, what cannot be carried out."""

    tool: str
    arguments: dict[str, str] = field(default_factory=dict)
    call_id: str = ""  # empty: it was spelled as a text
    fault: str = ""


def parse_answer(answer: Answer) -> ToolCall:
    """What an answer wants, whatever it is."""
    if len(answer.calls) > 1:
        return ToolCall("", fault="Nothing was done: use one tool at a time.")
    if answer.calls:
        call = answer.calls[0]
        return _checked(call.name, _object(call.arguments), call.id)
    whole = answer.text.strip()
    fenced = FENCED.fullmatch(whole)
    value = _object(fenced[1] if fenced else whole)
    name = value.get("tool") if value else None
    if not isinstance(name, str):
        return ToolCall("", fault="Use one of the tools read, write and refuse, or answer with one JSON object.")
    return _checked(name, value, "")


def build_reply_messages(answer: Answer, one: ToolCall, told: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that tell a model what it wanted and what came of it, for the next question."""
    result = orjson.dumps(told).decode()
    if one.fault or not one.call_id:
        said = answer.text.strip()[:MOST_ECHO] or "(a call that cannot be carried out)"
        return [{"role": "assistant", "content": said}, {"role": "user", "content": result}]
    arguments = {name: value if len(value) <= MOST_ECHO else "…" for name, value in one.arguments.items()}
    function = {"name": one.tool, "arguments": orjson.dumps(arguments).decode()}
    call = {"id": one.call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": one.call_id, "content": result},
    ]


def _checked(name, value, call_id) -> ToolCall:
    if name not in ARGUMENTS:
        return ToolCall(name[:MOST_NAME], fault="There is no such tool. Use read, write or refuse.")
    if value is None:
        return ToolCall(name, fault="The arguments must be one JSON object.")
    found = {key: value.get(key) for key in ARGUMENTS[name]}
    for key, one in found.items():
        if not isinstance(one, str) or not (one.strip() or key == "content"):
            kept = {known: text for known, text in found.items() if isinstance(text, str)}
            return ToolCall(name, kept, call_id, f'"{key}" must be a text.')
    return ToolCall(name, found, call_id)


def _object(text):
    """The object of a JSON text; None when it is none, or says one thing twice."""
    try:
        orjson.loads(text)  # refuses what no database takes, and what is nested without end
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
