"""ShareGPT rows, and how this format writes a conversation.

A row is a conversation up to a turn, ending with the reply to learn.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import orjson

from .. import changes
from ..changes import Changes
from ..conversations.exchanges import Conversation, Exchange
from ..conversations.spelling import BrokenRule, Call, Message, Step
from ..json_output import dump_json
from ..outcomes import Row
from ..prompts import NO_PROMPTS, SYSTEM, TOOLS, PromptColumns
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import metadata
from .decisions import build_gate_exchange, build_guardian_exchange

COLUMNS = (
    "conversations",
    "system",
    "tools",
    *metadata.PLACE_COLUMNS,
    *metadata.JUDGEMENT_COLUMNS,
    *metadata.GIVEN_COLUMNS,
    *metadata.SCAN_COLUMNS,
)
HUMAN, AGENT, CALL, RESULT = "human", "gpt", "function_call", "observation"
ASKING, ANSWERING = frozenset({HUMAN, RESULT}), frozenset({AGENT, CALL})
MESSAGE_KEYS = ["from", "value"]
THINK = ("<think>", "</think>")
# LLaMA-Factory searches the JSON of a call for these before it reads it, and stops at them or cuts them out. With an
# escape instead, an argument that holds them is the same argument.
TAGS = ("<think>", "<tool_call>")
THOUGHT = re.compile(rf"{THINK[0]}.*?{THINK[1]}", re.DOTALL)


def build_gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation as a question, and memory_gate's decision as its answer."""
    exchange, done = build_gate_exchange(sample, decision, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done | metadata.find_trait_changes(sample)


def build_guardian_row(sample: ExportSample, write_answer: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was as a question, and write_guardian's answer."""
    exchange, done = build_guardian_exchange(sample, write_answer, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done


def build_row(sample: ExportSample, exchanges: Sequence[Exchange], given: PromptColumns = NO_PROMPTS) -> Row:
    """The conversation up to the sample's reply, with the prompt and tools."""
    return {
        "conversations": Conversation(list(exchanges)),
        "system": given.text(SYSTEM),
        "tools": given.text(TOOLS),
        **metadata.build_place(sample),
        **metadata.build_judgement(sample),
        **metadata.build_given(given),
    }


def find_described_tools(given: PromptColumns) -> tuple[frozenset[str], Changes]:
    """The names of the tools in a row, and the changes of its prompt columns."""
    return given.names, given.changes


@dataclass(frozen=True, slots=True)
class ShareGPT:
    """How ShareGPT writes a conversation: see conversations.spelling.Spelling.

    Calls that ran side by side are one message, and their results another. `is_split`: each call with its result,
    one after the other. What the agent said before a call is left out: the format has no place for it.
    """

    is_split: bool = False
    column: ClassVar = "conversations"
    text: ClassVar = "value"
    notes: ClassVar[tuple[str, ...]] = ()  # keys of every message beside those two

    def build_question(self, text: str) -> Message:
        """A message with a person's words."""
        return {"from": HUMAN, "value": text}

    def build_answer(self, text: str) -> Message:
        """A message with the agent's words at the end of a turn."""
        return {"from": AGENT, "value": text}

    def build_own_answer(self, _sample: ExportSample, text: str) -> Message:
        """The answer that a row teaches."""
        return self.build_answer(text)

    def build_calls(self, step: Step, done: set[str]) -> list[Message]:
        """One message with all calls, and one with all results.

        With `is_split`, a pair of messages for each call.
        """
        if step.words:
            done.add(changes.TEXT_BEFORE_CALL_DROPPED)
        if len(step.calls) > 1:
            done.add(changes.CALLS_SPLIT if self.is_split else changes.TOOL_RESULTS_MERGED)
        if not self.is_split:
            return _build_pair(call_value(step.calls), "\n\n".join(step.results))
        messages: list[Message] = []
        for call, result in zip(step.calls, step.results, strict=True):
            messages += _build_pair(call_value([call]), result)
        return messages

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """`train` in every message: true where the agent speaks and it is to be learned."""
        return [message | {"train": train and message["from"] in ANSWERING} for message in messages]

    def get_result(self, message: Message) -> str | None:
        """The text of a tool result; None for every other message."""
        return message["value"] if message["from"] == RESULT else None

    def replace_result(self, message: Message, text: str) -> Message:
        """The message of a tool result with another text."""
        return {**message, "value": text}

    def size(self, messages: Iterable[Message]) -> int:
        """The number of characters in the messages."""
        return sum(len(message["value"]) for message in messages)

    def read_texts(self, messages: Iterable[Message]) -> Iterable[str]:
        """The texts of the messages."""
        return (message["value"] for message in messages)

    def find_called_tools(self, messages: Iterable[Message]) -> frozenset[str]:
        """The names of the tools that the messages call, of those that can be read."""
        return frozenset().union(
            *[_read_called_names(message["value"]) or () for message in messages if message["from"] == CALL]
        )

    def find_broken_rules(self, messages: object) -> list[BrokenRule]:
        """The rules that the messages of a conversation break."""
        if not isinstance(messages, list) or not messages or len(messages) % 2:
            return [BrokenRule("odd_count")]
        broken: list[BrokenRule] = []
        before = ""
        is_marked = isinstance(messages[0], dict) and "train" in messages[0]
        keys = [*MESSAGE_KEYS, *self.notes, *(["train"] if is_marked else [])]
        for number, message in enumerate(messages):
            if not isinstance(message, dict) or list(message) != keys or not _are_texts(message, keys):
                return [*broken, BrokenRule("message_keys", str(number + 1))]  # what follows cannot be judged
            role = message["from"]
            if rule := _find_side_rule(role, number, before) or _find_text_rule(role, message["value"]):
                broken.append(BrokenRule(rule, str(number + 1)))
            before = role
        if not broken and before != AGENT:
            broken.append(BrokenRule("no_reply", str(len(messages))))
        return broken


SPELLING = ShareGPT()


def call_value(calls: Sequence[Call]) -> str:
    """Tool calls as trainers read them.

    One call is an object, and calls that ran side by side are a list.
    """
    values = [{"name": call.name, "arguments": call.arguments} for call in calls]
    text = dump_json(values[0] if len(values) == 1 else values)
    for tag in TAGS:
        text = text.replace(tag, f"\\u003c{tag[1:]}")
    return text


def _are_texts(message, keys):
    """Whether the role, the value and the notes of a message are texts."""
    return all(isinstance(message[key], str) for key in keys if key != "train")


def _find_side_rule(role, number, before):
    """The rule about sides that a message breaks; None when it breaks none."""
    if role not in (ANSWERING if number % 2 else ASKING) or (number == 0 and role != HUMAN):
        return "alternation"
    if (role == RESULT) == (before == CALL):
        return None
    return "call_without_result" if before == CALL else "result_without_call"


def _find_text_rule(role, value):
    """The rule about texts that a message breaks; None when it breaks none."""
    if role == CALL:
        return None if _read_called_names(value) else "call"
    return "empty" if role != RESULT and (not value or value.isspace()) else None


@lru_cache(maxsize=16)  # a turn is an exchange twice: with the reply to learn, and in the history of what follows
def _read_called_names(value):
    """The names of the tools that a message calls; None when no trainer could read it."""
    try:
        calls = orjson.loads(THOUGHT.sub("", value, count=1) if value.startswith(THINK[0]) else value)
    except orjson.JSONDecodeError:
        return None
    calls = calls if isinstance(calls, list) else [calls]
    is_sound = all(
        isinstance(call, dict)
        and list(call) == ["name", "arguments"]
        and isinstance(call["name"], str)
        and call["name"] != ""
        and isinstance(call["arguments"], dict)
        for call in calls
    )
    return frozenset(call["name"] for call in calls) if calls and is_sound else None


def _build_pair(call, result):
    return [{"from": CALL, "value": call}, {"from": RESULT, "value": result}]
