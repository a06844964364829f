"""What trainers insist on, as named rules: a row that breaks one is lost without a word, or stops the training.

The rules are those of LLaMA-Factory's alpaca and sharegpt converters, of Unsloth's (messages of exactly two keys) and
of HF `datasets` (the same keys in the same order, texts only).
"""

from typing import Any

from ..conversations.exchanges import Broken, Conversation, broken_messages
from . import alpaca, sharegpt
from .tools import are_functions

COLUMNS = {"alpaca": alpaca.COLUMNS, "sharegpt": sharegpt.COLUMNS}


def broken_rules(kind: str, row: dict[str, Any]) -> list[Broken]:
    """The rules of a format (`alpaca`, `sharegpt`) that a row breaks; empty when trainers will take it."""
    if tuple(row) != COLUMNS[kind]:
        return [Broken("columns", ", ".join(row))]
    for name, value in row.items():
        if not isinstance(value, str) and name != "conversations":
            return [Broken("not_text", name)]
    return _alpaca(row) if kind == "alpaca" else _sharegpt(row)


def _alpaca(row):
    return [Broken("empty", name) for name in ("instruction", "output") if not row[name].strip()]


def _sharegpt(row):
    said = row["conversations"]
    broken = said.broken if isinstance(said, Conversation) else broken_messages(said)
    return broken if row["tools"] == "[]" or are_functions(row["tools"]) else [*broken, Broken("tools")]
