"""The rules of trainers, by name.

Trainers lose a row that breaks a rule without a message, or stop.

The rules are those of LLaMA-Factory's alpaca and sharegpt converters, of Unsloth's (messages of exactly two keys), of
HF `datasets` (the same keys in the same order, texts only) and of OpenAI's fine-tuning (no keys but its own).
"""

from typing import Any

from ..conversations.exchanges import Conversation
from ..conversations.spelling import BrokenRule
from . import alpaca, openai, sharegpt
from .tools import are_functions

# The columns of training rows; samples as they are stored (`raw`, `csv`) keep no rules.
COLUMNS = {"alpaca": alpaca.COLUMNS, "sharegpt": sharegpt.COLUMNS, "openai": openai.COLUMNS}


NO_TEXTS = {"alpaca": (), "sharegpt": ("conversations",), "openai": openai.WITH_TOOLS}


def find_broken_rules(kind: str, row: dict[str, Any]) -> list[BrokenRule]:
    """The rules of a format that a row breaks; empty when trainers will take it."""
    if kind not in COLUMNS:
        return []
    if tuple(row) != COLUMNS[kind] and not (kind == "openai" and tuple(row) == openai.WITH_TOOLS):
        return [BrokenRule("columns", ", ".join(row))]
    for name, value in row.items():
        if not isinstance(value, str) and name not in NO_TEXTS[kind]:
            return [BrokenRule("not_text", name)]
    return RULES[kind](row)


def _check_alpaca(row):
    return [BrokenRule("empty", name) for name in ("instruction", "output") if not row[name].strip()]


def _check_sharegpt(row):
    broken = _check_conversation(row["conversations"], sharegpt.SPELLING)
    return broken if row["tools"] == "[]" or are_functions(row["tools"]) else [*broken, BrokenRule("tools")]


def _check_openai(row):
    broken = _check_conversation(row["messages"], openai.SPELLING)
    return broken if "tools" not in row or openai.are_tools(row["tools"]) else [*broken, BrokenRule("tools")]


def _check_conversation(conversation, spelling):
    return conversation.broken if isinstance(conversation, Conversation) else spelling.find_broken_rules(conversation)


RULES = {"alpaca": _check_alpaca, "sharegpt": _check_sharegpt, "openai": _check_openai}
