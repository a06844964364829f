"""The rules of trainers, by name.

Trainers lose a row that breaks a rule without a message, or stop.

The rules are those of LLaMA-Factory's alpaca and sharegpt converters, of Unsloth's (messages of exactly two keys), of
HF `datasets` (the same keys in the same order, texts only), of TRL (prompts that end with a question, answers that are
one message) and of OpenAI's fine-tuning (no keys but its own).
"""

from typing import Any

from ..conversations.exchanges import Conversation
from ..conversations.spelling import BrokenRule
from . import alpaca, messages, openai, reflection, sharegpt
from .preferences import FORMATS as JUDGED
from .tools import are_functions

# The columns of training rows; samples as they are stored (`raw`, `csv`) keep no rules.
COLUMNS = {
    "alpaca": alpaca.COLUMNS,
    "sharegpt": sharegpt.COLUMNS,
    "sharegpt_reflection": reflection.COLUMNS,
    "openai": openai.COLUMNS,
    "messages": messages.COLUMNS,
    "parquet": messages.COLUMNS,
    **{name: exporter.COLUMNS for name, exporter in JUDGED.items()},
}


NO_TEXTS = {
    "alpaca": (),
    "sharegpt": ("conversations",),
    "sharegpt_reflection": ("conversations",),
    "openai": openai.WITH_TOOLS,
    "messages": ("messages",),
    "parquet": ("messages",),
    "preference": ("prompt", "chosen", "rejected"),
    "openai_preference": JUDGED["openai_preference"].COLUMNS,
    "llamafactory_preference": ("conversations", "chosen", "rejected"),
    "kto": ("prompt", "completion", "label"),
}


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
    return [*_check_conversation(row["conversations"], sharegpt.SPELLING), *_check_tool_text(row)]


def _check_reflection(row):
    return [*_check_conversation(row["conversations"], reflection.SPELLING), *_check_tool_text(row)]


def _check_openai(row):
    broken = _check_conversation(row["messages"], openai.SPELLING)
    return broken if "tools" not in row or openai.are_tools(row["tools"]) else [*broken, BrokenRule("tools")]


def _check_messages(row):
    return [*_check_conversation(row["messages"], messages.SPELLING), *_check_tool_text(row)]


def _check_preference(row):
    answers = (row["chosen"], row["rejected"])
    if not all(isinstance(answer, list) and len(answer) == 1 for answer in answers):
        return [BrokenRule("answers")]
    broken = _check_judged(JUDGED["preference"].SPELLING, row["prompt"], row["chosen"] + row["rejected"])
    return [*broken, *_check_tool_text(row)]


def _check_openai_preference(row):
    answers, prompt = (row["preferred_output"], row["non_preferred_output"]), row["input"]
    if not all(isinstance(answer, list) and len(answer) == 1 for answer in answers):
        return [BrokenRule("answers")]
    if not isinstance(prompt, dict) or list(prompt) != ["messages", "tools", "parallel_tool_calls"]:
        return [BrokenRule("columns", "input")]
    broken = _check_judged(JUDGED["openai_preference"].SPELLING, prompt["messages"], answers[0] + answers[1])
    return broken if prompt["tools"] == [] or openai.are_tools(prompt["tools"]) else [*broken, BrokenRule("tools")]


def _check_llamafactory_preference(row):
    spelling = JUDGED["llamafactory_preference"].SPELLING
    return [*_check_judged(spelling, row["conversations"], [row["chosen"], row["rejected"]]), *_check_tool_text(row)]


def _check_kto(row):
    if not isinstance(row["completion"], list) or len(row["completion"]) != 1 or type(row["label"]) is not bool:
        return [BrokenRule("answers")]
    return [*_check_judged(JUDGED["kto"].SPELLING, row["prompt"], row["completion"]), *_check_tool_text(row)]


def _check_judged(spelling, prompt, answers):
    """The rules that a question and its answers break.

    Each answer ends the conversation, and none is given twice.
    """
    if isinstance(prompt, Conversation):
        prompt = prompt.messages if prompt.broken else prompt
    if isinstance(prompt, Conversation):  # checked once, with the answer that it was cut from
        broken = [] if all(map(_is_answer(spelling), answers)) else [BrokenRule("answers")]
    elif not isinstance(prompt, list):
        return [BrokenRule("odd_count")]
    else:
        broken = [rule for answer in answers for rule in spelling.find_broken_rules([*prompt, answer])]
    is_repeated = len(answers) == 2 and answers[0] == answers[1]
    return [*broken, BrokenRule("answers")] if is_repeated else broken


def _is_answer(spelling):
    """A function that says whether a message is an answer with text."""
    shape = spelling.build_answer("text")
    return lambda answer: (
        isinstance(answer, dict)
        and list(answer) == list(shape)
        and all(isinstance(value, str) and value.strip() for value in answer.values())
    )


def _check_tool_text(row):
    return [] if row["tools"] == "[]" or are_functions(row["tools"]) else [BrokenRule("tools")]


def _check_conversation(conversation, spelling):
    return conversation.broken if isinstance(conversation, Conversation) else spelling.find_broken_rules(conversation)


RULES = {
    "alpaca": _check_alpaca,
    "sharegpt": _check_sharegpt,
    "sharegpt_reflection": _check_reflection,
    "openai": _check_openai,
    "messages": _check_messages,
    "parquet": _check_messages,
    "preference": _check_preference,
    "openai_preference": _check_openai_preference,
    "llamafactory_preference": _check_llamafactory_preference,
    "kto": _check_kto,
}
