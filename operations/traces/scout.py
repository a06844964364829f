"""Parquet for Inspect Scout, which reads a folder of such files as a database of transcripts, a row for each."""

import io
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from datasets.markers import cut_before_marker

from .atif import build_metrics, format_time
from .canonical import AGENT, TOOL, SessionTrace, TraceMessage

MOST_BYTES = 64 * 1024 * 1024  # of the messages of a session, which one cell has
LONGEST_ERROR = 500  # characters of a failed result that are its error
SOURCE = ("transcript_id", "source_type", "source_id", "date", "agent", "model")
TEXTS = (*SOURCE, "messages", "events", "title", "channel", "origin", "chains")
NUMBERS = ("message_count", "total_tokens", "turns")


class TooLarge(Exception):
    """The messages of a session do not fit into a cell."""


def write_table(trace: SessionTrace) -> Iterator[bytes]:
    """Yield the file of a session: a table of one row. Raises TooLarge."""
    arrow, parquet, file = import_module("pyarrow"), import_module("pyarrow.parquet"), io.BytesIO()
    columns = [(name, arrow.large_string()) for name in TEXTS] + [(name, arrow.int64()) for name in NUMBERS]
    schema = arrow.schema([*columns, ("total_time", arrow.float64())])
    parquet.write_table(arrow.Table.from_pylist([build_row(trace)], schema=schema), file)
    yield file.getbuffer()


def build_row(trace: SessionTrace) -> dict[str, Any]:
    """The row of a session. Raises TooLarge."""
    session, messages, chains, size = trace.session, [], [], 0
    for message in trace.read_messages():
        messages.append(trace.encode(build_message(message, trace)))
        if message.chain:
            chains.append({"turn": message.turn_number, **message.chain})
        size += len(messages[-1])
        if size > MOST_BYTES:
            raise TooLarge
    values = {"title": trace.title, "channel": session.channel_id, "origin": session.origin}
    return {
        "transcript_id": session.id,
        "source_type": "openclaw",
        "source_id": trace.agent.agent_id,
        "date": format_time(session.created_at),
        "agent": trace.agent.agent_id,
        "model": session.model,
        "message_count": len(messages),
        "total_tokens": session.total_tokens,
        "total_time": max(0, session.last_activity_at - session.created_at) / 1000,
        "turns": session.turn_count,
        "messages": (b"[" + b",".join(messages) + b"]").decode(),
        "events": "[]",
        "chains": trace.encode(chains).decode(),
        **{name: trace.numbers.encode(value.encode()).decode() for name, value in values.items()},
    }


def build_message(message: TraceMessage, trace: SessionTrace) -> dict[str, Any]:
    """A message as Inspect has it."""
    facts, extra = message.facts, message.build_extra() | {"at": message.facts.created_at} | build_metrics(message)
    extra.pop("chain", None)
    values: dict[str, Any] = {"id": f"{trace.session.id}:{message.seq}", "role": message.role, "content": facts.text}
    if facts.thinking:
        text = {"type": "text", "text": facts.text}
        values["content"] = [{"type": "reasoning", "reasoning": facts.thinking}, text]
    if message.role == AGENT:
        names = ("id", "function", "arguments")
        calls = [dict(zip(names, (call.id, call.name, call.arguments), strict=True)) for call in facts.calls]
        values |= {"tool_calls": calls, "model": facts.model, "source": "generate"}
    elif message.role == TOOL:
        values |= {"tool_call_id": facts.tool_call_id, "function": facts.tool_name}
        error = {"type": "unknown", "message": facts.text[: cut_before_marker(facts.text, LONGEST_ERROR)]}
        values["error"] = error if facts.is_failed else None
    values["metadata"] = {name: value for name, value in extra.items() if value is not None}
    return {name: value for name, value in values.items() if value or name == "content"}
