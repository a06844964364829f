"""Steps of runs (`openclaw-trajectory`), without the words that transcripts hold as well. No Django."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from . import placeholders
from .jsonl import Line
from .records import parse_moment_ms
from .usage import read_usage

SCHEMA = "openclaw-trajectory"
COMPILED = "context.compiled"  # the step that holds what a model is given: prompt, tools, messages
# What is kept of `data`: how a run went. Prompts, messages, arguments and results are not in here.
FACTS = (
    *("trigger", "messageProvider", "messageChannel", "toolCount", "clientToolCount", "imagesCount"),
    *("status", "finalStatus", "stopReason", "aborted", "externalAbort", "timedOut", "idleTimedOut"),
    *("timedOutDuringCompaction", "timedOutDuringToolExecution", "timedOutByRunBudget", "compactionCount"),
    *("toolCallId", "name", "success", "transcriptLeafId"),
)
MAX_FACT = 500  # characters
# What a model was given, and the fact that says why it is not whole in a step that should hold it.
MODEL_INPUTS = {"systemPrompt": "systemPromptNotWhole", "tools": "toolsNotWhole"}


@dataclass(slots=True)
class Step:
    """One step; `prompt` and `tools` are what the model was given, as far as the step holds them."""

    session_id: str
    seq: int
    run_id: str
    type: str
    created_at: int | None
    about: dict[str, Any] = field(default_factory=dict)
    moment: str = ""
    prompt: str | None = None
    tools: list[Any] | None = None
    said: str = ""  # instead of `seq` in the id of one without it: its place changes when its file is written anew

    @property
    def is_cut(self) -> bool:
        """Whether OpenClaw did not record whole what the model was given."""
        return any(name in self.about for name in MODEL_INPUTS.values())

    @property
    def id(self) -> str:
        """The same for the same step, in a file and in a database; `seq` begins anew with each attempt."""
        told = [self.session_id, self.run_id, self.type, self.moment, self.said or self.seq]
        return hashlib.sha256(orjson.dumps(told)).hexdigest()[:32]


def read_steps(lines: Iterable[Line], *, session_id: str = "") -> Iterator[Step]:
    """The steps that lines hold; lines that are none are left out (they were diagnostics, not evidence)."""
    for line in lines:
        record = line.record
        if record is None or record.get("traceSchema", SCHEMA) != SCHEMA:
            continue
        seq = record.get("seq", line.offset)
        if isinstance(seq, int) and 0 <= seq < 2**53:
            step = _step(record, seq, session_id)
            step.said = "" if "seq" in record else hashlib.sha256(line.raw).hexdigest()
            yield step


def _step(record, seq, session_id):
    data = record.get("data") if isinstance(record.get("data"), dict) else {}
    about = {name: data[name] for name in FACTS if _is_small(data.get(name))}
    about |= {name: record[name] for name in ("provider", "modelId") if _is_small(record.get(name))}
    usage = data.get("usage")
    if isinstance(usage, dict):
        about["usage"] = {name: value for name, value in usage.items() if _is_number(value)}
        about["usage"].pop("cost", None)
        if (cost := read_usage(usage).cost) is not None:
            about["usage"]["cost"] = cost
    about |= dict(_not_whole(data))
    prompt, tools = data.get("systemPrompt"), data.get("tools")
    return Step(
        session_id=session_id or _text(record.get("sessionId")),
        seq=seq,
        run_id=_text(record.get("runId")),
        type=_text(record.get("type")),
        created_at=parse_moment_ms(record.get("ts")),
        about=about,
        moment=_text(record.get("ts")),
        prompt=prompt if isinstance(prompt, str) and prompt else None,
        tools=tools if isinstance(tools, list) and tools else None,
    )


def _not_whole(data):
    """Why what the model was given is not whole, where it is not."""
    for name, fact in MODEL_INPUTS.items():
        value = data.get(name)
        if value and (why := placeholders.find_nested_placeholder(value) or _unknown(name, value)):
            yield fact, why


def _unknown(name, value):
    return "" if isinstance(value, str if name == "systemPrompt" else list) else placeholders.UNKNOWN_FORM


def tools_to_json(tools: list[Any]) -> bytes:
    """Tool schemas as one text, the same for the same tools."""
    return orjson.dumps(tools, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _is_small(value):
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= MAX_FACT)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value):
    return value[:MAX_FACT] if isinstance(value, str) else ""
