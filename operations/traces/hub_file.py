"""The Session Trace Simple Format of the Hugging Face Hub: a header, then a line for each message."""

from collections.abc import Iterator
from typing import Any

from datasets.json_texts import dump_json

from .canonical import AGENT, TOOL, SessionTrace, TraceMessage

HARNESS = "openclaw"


def write_lines(trace: SessionTrace) -> Iterator[bytes]:
    """Yield the lines of a session."""
    session = trace.session
    header = {"type": "session", "harness": HARNESS, "id": session.id, "agent": trace.agent.agent_id}
    header |= {"channel": session.channel_id, "origin": session.origin, "startedAt": session.created_at}
    header |= {name: value for name, value in (("name", trace.title), ("model", session.model)) if value}
    yield trace.encode(header) + b"\n"
    for message in trace.read_messages():
        yield trace.encode({"type": "message", "message": build_message(message)}) + b"\n"


def build_message(message: TraceMessage) -> dict[str, Any]:
    """A message with the fields that the format documents, and no other."""
    facts = message.facts
    values: dict[str, Any] = {"role": message.role, "content": facts.text, "timestamp": facts.created_at}
    if message.role == AGENT:
        values |= {"reasoningContent": facts.thinking, "model": facts.model}
        values["toolCalls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": dump_json(call.arguments)}}
            for call in facts.calls
        ]
    if message.role == TOOL:
        values["toolCallId"] = facts.tool_call_id
    return {name: value for name, value in values.items() if value or name == "content"}
