"""Reads steps of runs (`openclaw-trajectory`), without the words that transcripts hold as well.

No Django.
"""

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
TOOL_ENDED = "tool.action.finished"  # the end of a tool call in the audit log of OpenClaw
COMPILED = "context.compiled"  # the step that holds what a model is given: prompt, tools, messages
# Fields of `data` that are stored: how a run went. Prompts, messages, arguments and results are left out.
FACTS = (
    *("trigger", "messageProvider", "messageChannel", "toolCount", "clientToolCount", "imagesCount"),
    *("status", "finalStatus", "stopReason", "aborted", "externalAbort", "timedOut", "idleTimedOut"),
    *("timedOutDuringCompaction", "timedOutDuringToolExecution", "timedOutByRunBudget", "compactionCount"),
    *("toolCallId", "name", "success", "transcriptLeafId"),
)
MAX_FACT = 500  # characters
# Inputs of a model, and the fact that gives the reason when one is incomplete.
MODEL_INPUTS = {"systemPrompt": "systemPromptNotWhole", "tools": "toolsNotWhole"}


@dataclass(slots=True)
class Step:
    """One step; `prompt` and `tools` are the model's inputs, when the step has them."""

    session_id: str
    seq: int
    run_id: str
    type: str
    created_at: int | None
    about: dict[str, Any] = field(default_factory=dict)
    moment: str = ""
    prompt: str | None = None
    tools: list[Any] | None = None
    line_hash: str = ""  # used in the id of a step without `seq`: its place changes when its file is rewritten

    @property
    def is_cut(self) -> bool:
        """Whether OpenClaw did not record the model's inputs completely."""
        return any(name in self.about for name in MODEL_INPUTS.values())

    @property
    def id(self) -> str:
        """An id that is the same for one step in a file and in a database.

        It covers more than `seq`, which begins anew with each attempt.
        """
        parts = [self.session_id, self.run_id, self.type, self.moment, self.line_hash or self.seq]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:32]


def read_steps(lines: Iterable[Line], *, session_id: str = "") -> Iterator[Step]:
    """The steps that lines hold; lines without a step are left out.

    Those lines are diagnostics, not evidence.
    """
    for line in lines:
        record = line.record
        if record is None or record.get("traceSchema", SCHEMA) != SCHEMA:
            continue
        seq = record.get("seq", line.offset)
        if isinstance(seq, int) and 0 <= seq < 2**53:
            step = _build_step(record, seq, session_id)
            step.line_hash = "" if "seq" in record else hashlib.sha256(line.raw).hexdigest()
            yield step


def _build_step(record, seq, session_id):
    data = record.get("data") if isinstance(record.get("data"), dict) else {}
    step_facts = {name: data[name] for name in FACTS if _is_small(data.get(name))}
    step_facts |= {name: record[name] for name in ("provider", "modelId") if _is_small(record.get(name))}
    usage = data.get("usage")
    if isinstance(usage, dict):
        step_facts["usage"] = {name: value for name, value in usage.items() if _is_number(value)}
        step_facts["usage"].pop("cost", None)
        if (cost := read_usage(usage).cost) is not None:
            step_facts["usage"]["cost"] = cost
    step_facts |= dict(_find_incomplete(data))
    prompt, tools = data.get("systemPrompt"), data.get("tools")
    return Step(
        session_id=session_id or _get_text(record.get("sessionId")),
        seq=seq,
        run_id=_get_text(record.get("runId")),
        type=_get_text(record.get("type")),
        created_at=parse_moment_ms(record.get("ts")),
        about=step_facts,
        moment=_get_text(record.get("ts")),
        prompt=prompt if isinstance(prompt, str) and prompt else None,
        tools=tools if isinstance(tools, list) and tools else None,
    )


def _find_incomplete(data):
    """The reasons why inputs of the model are incomplete, as facts."""
    for name, fact in MODEL_INPUTS.items():
        value = data.get(name)
        if name == "systemPrompt" and isinstance(value, str) and placeholders.has_only_runtime_values(value):
            continue
        if value and (why := placeholders.find_nested_placeholder(value) or _check_form(name, value)):
            yield fact, why


def _check_form(name, value):
    return "" if isinstance(value, str if name == "systemPrompt" else list) else placeholders.UNKNOWN_FORM


def tools_to_json(tools: list[Any]) -> bytes:
    """Tool schemas as one JSON text, the same for the same tools."""
    return orjson.dumps(tools, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _is_small(value):
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= MAX_FACT)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _get_text(value):
    return value[:MAX_FACT] if isinstance(value, str) else ""
