"""Rows of `messages` as TRL, Axolotl and chat templates read them.

Calls are objects, with objects of arguments. A message has the keys of its role and no others: a template asks whether
a message has calls by their key. Ids of calls have nine characters, as the templates of Mistral require.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..changes import MESSAGES_MERGED, Changes
from ..conversations.exchanges import Conversation, Exchange
from ..conversations.spelling import Call, Message, Step
from ..outcomes import Row
from ..prompts import NO_PROMPTS, SYSTEM, TOOLS, PromptColumns
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import metadata, openai
from .decisions import build_gate_exchange, build_guardian_exchange
from .openai import AGENT, TOOL
from .sharegpt import find_described_tools

__all__ = ("find_described_tools",)

COLUMNS = (
    "messages",
    "tools",
    *metadata.PLACE_COLUMNS,
    *metadata.JUDGEMENT_COLUMNS,
    *metadata.GIVEN_COLUMNS,
    *metadata.SCAN_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class Messages(openai.OpenAI):
    """How chat templates want a conversation: see conversations.spelling.Spelling."""

    mark: ClassVar = "train"
    is_text: ClassVar = False  # arguments are objects
    keys: ClassVar[dict[str, set[tuple[str, ...]]]] = {
        openai.SYSTEM: {("role", "content"), ("role", "content", "train")},
        openai.USER: {("role", "content"), ("role", "content", "train")},
        TOOL: {("role", "name", "tool_call_id", "content", *mark) for mark in ((), ("train",))},
        AGENT: {("role", "content", *more, *mark) for more in ((), ("tool_calls",)) for mark in ((), ("train",))},
    }

    def build_calls(self, step: Step, done: set[str]) -> list[Message]:
        """One message with all calls and the words before them, and one for each result."""
        if len(step.words) > 1:
            done.add(MESSAGES_MERGED)
        ids = openai.build_call_ids(step)
        calls = [_build_call(call, id_) for call, id_ in zip(step.calls, ids, strict=True)]
        results = zip(step.calls, ids, step.results, strict=True)
        return [
            {"role": AGENT, "content": "\n\n".join(step.words), "tool_calls": calls},
            *({"role": TOOL, "name": call.name, "tool_call_id": id_, "content": text} for call, id_, text in results),
        ]

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """`train` in every message: true where the agent speaks and it is to be learned."""
        return [message | {"train": train and message["role"] == AGENT} for message in messages]


SPELLING = Messages()


def build_row(sample: ExportSample, exchanges: Sequence[Exchange], given: PromptColumns = NO_PROMPTS) -> Row:
    """The conversation up to the sample's reply, after its system prompt where that is known."""
    return {
        "messages": Conversation(begin_with_prompt(exchanges, given, SPELLING)),
        "tools": given.text(TOOLS),
        **build_about(sample, given),
    }


def build_about(sample: ExportSample, given: PromptColumns) -> dict[str, str]:
    """The columns that say where a row and what it was given come from."""
    return {
        **metadata.build_place(sample),
        **metadata.build_judgement(sample),
        **metadata.build_given(given),
    }


def begin_with_prompt(exchanges: Sequence[Exchange], given: PromptColumns, spelling: openai.OpenAI) -> list[Exchange]:
    """The exchanges after their system prompt, marked as they are."""
    prompt = given.text(SYSTEM)
    if not prompt:
        return list(exchanges)
    is_marked = any(spelling.mark in message for message in exchanges[-1].messages)
    return [openai.build_system_exchange(prompt, spelling, is_marked=is_marked), *exchanges]


def build_gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation as a question, and memory_gate's decision as its answer."""
    exchange, done = build_gate_exchange(sample, decision, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done | metadata.find_trait_changes(sample)


def build_guardian_row(sample: ExportSample, write_answer: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was as a question, and write_guardian's answer."""
    exchange, done = build_guardian_exchange(sample, write_answer, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done


def _build_call(call: Call, id_: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
