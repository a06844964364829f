"""A folder of Parquet files that Inspect Scout reads as a database of transcripts: one row for each session."""

from importlib import import_module
from pathlib import Path
from typing import Any

from .atif import build_metrics, format_time
from .session_trace import AGENT, SYSTEM, TOOL, SessionTrace, TraceMessage

MOST_BYTES = 64 * 1024 * 1024  # of the messages of a session, which one cell has
FILE_BYTES = 2 * MOST_BYTES  # of the messages in a file
LONGEST_ERROR = 500  # characters of a failed result that are its error
TEXTS = "transcript_id source_type source_id date agent model messages events title channel origin chains".split()
NUMBERS = ("message_count", "total_tokens", "turns")


class TooLarge(Exception):
    """The messages of a session do not fit into a cell."""


class ScoutFiles:
    """The Parquet files of a folder, written session by session."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.count = self.size = 0
        self._arrow, self._parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        self._writer: Any = None
        text = self._arrow.large_string()
        columns = [(name, text) for name in (*TEXTS, "origin", "chains")]
        columns += [(name, self._arrow.int64()) for name in NUMBERS]
        self._schema = self._arrow.schema([*columns, ("total_time", self._arrow.float64())])

    def add(self, row: dict[str, Any]) -> str:
        """Add the row of a session; return the name of its file."""
        if self._writer is None or self.size + len(row["messages"]) > FILE_BYTES:
            self.close()
            self.count, self.size = self.count + 1, 0
            self._writer = self._parquet.ParquetWriter(self.folder / self.get_name(), self._schema)
        self.size += len(row["messages"])
        self._writer.write_table(self._arrow.Table.from_pylist([row], schema=self._schema))
        return self.get_name()

    def get_name(self) -> str:
        """The name of the present file."""
        return f"openclaw-{self.count:05}.parquet"

    def close(self) -> None:
        """Complete the present file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


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
    extra = message.build_extra()
    extra.pop("chain", None)
    extra |= {"at": message.at, **build_metrics(message)}
    values: dict[str, Any] = {"id": f"{trace.session.id}:{message.seq}", "role": message.role, "content": message.text}
    values["metadata"] = {name: value for name, value in extra.items() if value is not None}
    if message.role == AGENT:
        if message.thinking:
            parts = [{"type": "reasoning", "reasoning": message.thinking}, {"type": "text", "text": message.text}]
            values["content"] = parts
        if message.calls:
            values["tool_calls"] = [
                {"id": call.id, "function": call.name, "arguments": call.arguments, "type": "function"}
                for call in message.calls
            ]
        values |= {"source": "generate", **({"model": message.model} if message.model else {})}
    elif message.role == TOOL:
        values |= {"tool_call_id": message.tool_call_id or None, "function": message.tool_name or None}
        if message.is_failed:
            values["error"] = {"type": "unknown", "message": message.text[:LONGEST_ERROR]}
    elif message.role != SYSTEM:
        values["source"] = "input"
    return values
