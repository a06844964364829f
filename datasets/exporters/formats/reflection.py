"""The Reflection spec's own ShareGPT: what memory_gate decided stands in the agent's message.

Every message has the same keys, with empty texts where nothing was decided: a loader would fill them with nulls.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..changes import Changes
from ..conversations.exchanges import Exchange
from ..conversations.spelling import Message, Step
from ..outcomes import Row
from ..prompts import NO_PROMPTS, PromptColumns
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import metadata, sharegpt
from .decisions import build_gate_exchange, build_guardian_exchange
from .sharegpt import find_described_tools

__all__ = ("find_described_tools",)

COLUMNS = sharegpt.COLUMNS
DECISION, FACT = NOTES = ("memory_gate_decision", "candidate_fact")


@dataclass(frozen=True, slots=True)
class Reflection(sharegpt.ShareGPT):
    """ShareGPT with the notes of the spec in each message."""

    notes: ClassVar[tuple[str, ...]] = NOTES

    def build_question(self, text: str) -> Message:
        """A message with a person's words."""
        return _add_notes(sharegpt.SPELLING.build_question(text))

    def build_answer(self, text: str) -> Message:
        """A message with the agent's words at the end of a turn."""
        return _add_notes(sharegpt.SPELLING.build_answer(text))

    def build_own_answer(self, sample: ExportSample, text: str) -> Message:
        """The answer that a row teaches, with memory_gate's decision about its turn."""
        message = self.build_answer(text)
        return message | {DECISION: sample.gate.decision, FACT: sample.gate.fact} if sample.gate else message

    def build_calls(self, step: Step, done: set[str]) -> list[Message]:
        """The messages of calls and their results."""
        plain = sharegpt.ShareGPT(self.is_split)
        return [_add_notes(message) for message in plain.build_calls(step, done)]

    def read_texts(self, messages: Iterable[Message]) -> Iterable[str]:
        """The texts of the messages, with the facts in them."""
        for message in messages:
            yield from sharegpt.SPELLING.read_texts([message])
            if message[FACT]:
                yield message[FACT]


SPELLING = Reflection()


def build_row(sample: ExportSample, exchanges: Sequence[Exchange], given: PromptColumns = NO_PROMPTS) -> Row:
    """The conversation up to the sample's reply, with the prompt and tools."""
    return sharegpt.build_row(sample, exchanges, given)


def build_gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation as a question, and memory_gate's decision as its answer."""
    exchange, done = build_gate_exchange(sample, decision, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done | metadata.find_trait_changes(sample)


def build_guardian_row(sample: ExportSample, write_answer: WriteAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The fact and the file as it was as a question, and write_guardian's answer."""
    exchange, done = build_guardian_exchange(sample, write_answer, SPELLING, characters=characters)
    return build_row(sample, [exchange]), done


def _add_notes(message: Message) -> Message:
    return message | dict.fromkeys(NOTES, "")
