"""What trainers insist on, as named rules: a row that breaks one is lost without a word, or stops the training.

The rules are those of LLaMA-Factory's alpaca and sharegpt converters, of Unsloth's (messages of exactly two keys) and
of HF `datasets` (the same keys in the same order, texts only).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from . import alpaca, metadata, sharegpt
from .turns import AGENT, CALL, HUMAN, RESULT, THINK

COLUMNS = {"alpaca": alpaca.COLUMNS, "sharegpt": sharegpt.COLUMNS}
MESSAGE_KEYS = ["from", "value"]
ASKING, ANSWERING = frozenset({HUMAN, RESULT}), frozenset({AGENT, CALL})
THOUGHT = re.compile(rf"{THINK[0]}.*?{THINK[1]}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a row breaks; `place` is the column or the number of the message, from 1."""

    rule: str
    place: str = ""


def broken_rules(kind: str, row: dict[str, Any]) -> list[Broken]:
    """The rules of a format (`alpaca`, `sharegpt`) that a row breaks; empty when trainers will take it."""
    if tuple(row) != COLUMNS[kind]:
        return [Broken("columns", ", ".join(row))]
    for name, value in row.items():
        if not isinstance(value, str) and name != "conversations":
            return [Broken("not_text", name)]
    return _alpaca(row) if kind == "alpaca" else _sharegpt(row)


def reserved_columns(kind: str) -> list[str]:
    """Columns of ours whose names mean something else to a trainer."""
    own = {"system", "tools"} if kind == "sharegpt" else set()
    return sorted(metadata.RESERVED & set(COLUMNS[kind]) - own)


def _alpaca(row):
    return [Broken("empty", name) for name in ("instruction", "output") if not row[name].strip()]


def _sharegpt(row):
    messages = row["conversations"]
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        return [Broken("odd_count")]
    broken = []
    if row["tools"] != "[]" and not _is_tool_list(row["tools"]):
        broken.append(Broken("tools"))
    before = ""
    for number, message in enumerate(messages):
        if list(message) != MESSAGE_KEYS or not isinstance(message["value"], str):
            return [*broken, Broken("message_keys", str(number + 1))]  # what follows cannot be judged
        role = message["from"]
        if rule := _misplaced(role, number, before) or _empty_or_no_call(role, message["value"]):
            broken.append(Broken(rule, str(number + 1)))
        before = role
    if not broken and before != AGENT:
        broken.append(Broken("no_reply", str(len(messages))))
    return broken


def _misplaced(role, number, before):
    """The rule about sides that a message breaks; None when it breaks none."""
    if role not in (ANSWERING if number % 2 else ASKING) or (number == 0 and role != HUMAN):
        return "alternation"
    if (role == RESULT) == (before == CALL):
        return None
    return "call_without_result" if before == CALL else "result_without_call"


def _empty_or_no_call(role, value):
    """The rule about texts that a message breaks; None when it breaks none."""
    if role == CALL:
        return None if _is_call(value) else "call"
    return "empty" if role != RESULT and (not value or value.isspace()) else None


@lru_cache(maxsize=256)  # the same messages come again in every later row of their session
def _is_call(value):
    try:
        calls = orjson.loads(THOUGHT.sub("", value, count=1) if value.startswith(THINK[0]) else value)
    except orjson.JSONDecodeError:
        return False
    calls = calls if isinstance(calls, list) else [calls]
    return bool(calls) and all(
        isinstance(call, dict)
        and list(call) == ["name", "arguments"]
        and isinstance(call["name"], str)
        and call["name"] != ""
        and isinstance(call["arguments"], dict)
        for call in calls
    )


def _is_tool_list(value):
    try:
        return isinstance(orjson.loads(value), list)
    except orjson.JSONDecodeError:
        return False
