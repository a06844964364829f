"""The rules of trainers, by name, and the programs whose rules they are.

Trainers lose a row that breaks a rule without a message, or stop. The rules are those of LLaMA-Factory's alpaca and
sharegpt converters, of Unsloth's (messages of exactly two keys), of HF `datasets` (the same keys in the same order,
texts only), of TRL (prompts that end with a question, answers that are one message) and of OpenAI's fine-tuning.
"""

from typing import Any

from .dialects import AGENT, NAME, BrokenRule
from .exchanges import Conversation
from .formats import FORMATS, WEIGHT, WEIGHTED
from .prompt_columns import are_functions, is_function

LLAMA_FACTORY = {"program": "LLaMA-Factory", "version": "0.9.5"}
DATASETS = {"program": "HF datasets", "version": "4.0.0"}
UNSLOTH = {"program": "Unsloth", "version": "2026.10.9"}
TRL = {"program": "TRL", "version": "1.16.0"}
OPENAI = {"program": "OpenAI fine-tuning", "version": "2026"}  # a service: the year its rules were read
MESSAGES, ANSWERS = "messages", "answers"
ALPACA_TEXTS, SIDES, CALLS, TWO_KEYS, COLUMNS, DATES = "alpaca_texts", "sides", "calls", "two_keys", "columns", "dates"
READERS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "alpaca": (LLAMA_FACTORY, (ALPACA_TEXTS,)),
    "sharegpt": (LLAMA_FACTORY, (SIDES, CALLS)),
    "sharegpt_reflection": (LLAMA_FACTORY, (SIDES, CALLS)),
    "messages": (TRL, (MESSAGES,)),
    "parquet": (TRL, (MESSAGES,)),
    "preference": (TRL, (MESSAGES, ANSWERS)),
    "llamafactory_preference": (LLAMA_FACTORY, (SIDES, CALLS, ANSWERS)),
    "kto": (TRL, (MESSAGES, ANSWERS)),
    "openai": (OPENAI, (MESSAGES,)),
    "openai_preference": (OPENAI, (MESSAGES, ANSWERS)),
}


def list_checks(kind: str, *, is_marked: bool, has_tools: bool = True) -> list[dict[str, str]]:
    """The checks that every row of a format went through: `rule`, `program`, `version`.

    Samples as they are stored have none. `is_marked`: messages say in a third key what is to be learned. `has_tools`:
    they may hold calls, which Unsloth refuses.
    """
    if kind not in READERS:
        return []
    program, rules = READERS[kind]
    checks = [{"rule": rule, **program} for rule in rules]
    if kind == "sharegpt" and not is_marked and not has_tools:
        checks.append({"rule": TWO_KEYS, **UNSLOTH})
    return checks if program is OPENAI else [*checks, {"rule": COLUMNS, **DATASETS}, {"rule": DATES, **DATASETS}]


def find_broken_rules(kind: str, row: dict[str, Any]) -> list[BrokenRule]:
    """The rules of a format that a row breaks; empty when trainers will take it."""
    facts = FORMATS.get(kind)
    if facts is None or facts.is_stored:
        return []
    others = facts.lists if kind == "openai" else (*facts.columns, *([WEIGHT] if kind in WEIGHTED else []))
    if tuple(row) not in (facts.columns, others):
        return [BrokenRule("columns", ", ".join(row))]
    for name, value in row.items():
        if not isinstance(value, str) and name not in facts.lists:
            return [BrokenRule("not_text", name)]
    if facts.dialect is None:
        return [BrokenRule("empty", name) for name in ("instruction", "output") if not row[name].strip()]
    conversation = row[facts.lists[0]]
    if not facts.answers:
        is_checked = isinstance(conversation, Conversation)
        broken = conversation.broken if is_checked else facts.dialect.find_broken_rules(conversation)
        return [*broken, *_check_tools(facts, row)]
    answers = _list_answers(facts, row)
    if answers is None:
        return [BrokenRule("answers")]
    if kind == "openai_preference":
        if not isinstance(conversation, dict) or list(conversation) != ["messages", "tools", "parallel_tool_calls"]:
            return [BrokenRule("columns", "input")]
        row = conversation
        conversation = conversation["messages"]
    return [*_check_judged(facts.dialect, conversation, answers), *_check_tools(facts, row)]


def _list_answers(facts, row):
    """The judged answers as messages; None where they are not one message each, or have no label."""
    answers = [row[name] for name in facts.answers]
    if "label" in row and type(row["label"]) is not bool:
        return None
    if facts.dialect.role == "from":
        return answers
    are_single = all(isinstance(answer, list) and len(answer) == 1 for answer in answers)
    return [answer[0] for answer in answers] if are_single else None


def _check_judged(dialect, prompt, answers):
    """The rules that a question and its answers break: each ends the conversation, and none is given twice."""
    if isinstance(prompt, Conversation) and prompt.broken:
        prompt = prompt.messages
    if isinstance(prompt, Conversation):  # checked once, with the answer that it was cut from
        broken = [] if all(_is_answer(dialect, answer) for answer in answers) else [BrokenRule("answers")]
    elif not isinstance(prompt, list):
        return [BrokenRule("odd_count")]
    else:
        broken = [rule for answer in answers for rule in dialect.find_broken_rules([*prompt, answer])]
    is_repeated = len(answers) == 2 and answers[0] == answers[1]
    return [*broken, BrokenRule("answers")] if is_repeated else broken


def _is_answer(dialect, answer):
    """Whether a message is an answer with text."""
    is_message = isinstance(answer, dict) and list(answer) == list(dialect.build(AGENT, "text"))
    return is_message and all(isinstance(value, str) and value.strip() for value in answer.values())


def _check_tools(facts, row):
    """The rule that tools break: a text of JSON with functions, or for OpenAI functions with names that it takes."""
    tools = row.get("tools")
    if facts.has_place:
        return [] if tools == "[]" or are_functions(tools) else [BrokenRule("tools")]
    if "tools" not in row or (tools == [] and facts.answers):
        return []
    is_list = isinstance(tools, list) and tools and all(map(is_function, tools))
    names = [tool["function"]["name"] for tool in tools] if is_list else []
    is_sound = is_list and len(set(names)) == len(names) and all(map(NAME.fullmatch, names))
    return [] if is_sound else [BrokenRule("tools")]
