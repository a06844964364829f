"""What trainers insist on, as named rules: a row that breaks one is lost without a word, or stops the training.

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


def _alpaca(row):
    return [BrokenRule("empty", name) for name in ("instruction", "output") if not row[name].strip()]


def _sharegpt(row):
    broken = _conversation(row["conversations"], sharegpt.SPELLING)
    return broken if row["tools"] == "[]" or are_functions(row["tools"]) else [*broken, BrokenRule("tools")]


def _openai(row):
    broken = _conversation(row["messages"], openai.SPELLING)
    return broken if "tools" not in row or openai.are_tools(row["tools"]) else [*broken, BrokenRule("tools")]


def _conversation(said, spelling):
    return said.broken if isinstance(said, Conversation) else spelling.broken(said)


RULES = {"alpaca": _alpaca, "sharegpt": _sharegpt, "openai": _openai}
