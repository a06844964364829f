"""Preference pairs for three trainers, and single answers with labels for KTO.

The question is the conversation up to the answer. What a trainer does not learn is not marked: it is all in the prompt.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .. import pairs
from ..changes import Changes
from ..conversations.exchanges import Conversation, Exchange
from ..conversations.spelling import Message, Spelling
from ..outcomes import Row
from ..pairs import AnswerPair
from ..prompts import NO_PROMPTS, SYSTEM, TOOLS, PromptColumns
from ..samples import ExportSample, GateAnswer
from ..writes import WriteAnswer
from . import messages, metadata, openai, sharegpt
from .decisions import build_gate_exchange, build_guardian_exchange

ABOUT = (
    *metadata.PLACE_COLUMNS,
    *metadata.JUDGEMENT_COLUMNS,
    *metadata.GIVEN_COLUMNS,
    *metadata.SCAN_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class PromptMessages(messages.Messages):
    """Messages of a prompt: none of them is marked."""

    column: ClassVar = "prompt"

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """The same messages."""
        return messages


@dataclass(frozen=True, slots=True)
class OpenAIPrompt(openai.OpenAI):
    """OpenAI's messages of a prompt: none of them is marked."""

    column: ClassVar = "input"

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """The same messages."""
        return messages


@dataclass(frozen=True, slots=True)
class ShareGPTPrompt(sharegpt.ShareGPT):
    """ShareGPT's messages of a prompt: none of them is marked."""

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """The same messages."""
        return messages


class JudgedFormat(ABC):
    """A format whose rows have a question and judged answers, as training_rows calls it."""

    SPELLING: Spelling
    COLUMNS: tuple[str, ...]
    is_paired = True

    @abstractmethod
    def write(self, sample: ExportSample, exchanges: list[Exchange], pair: AnswerPair, given: PromptColumns) -> Row:
        """The row of a pair; the exchanges end with the question."""

    def find_described_tools(self, given: PromptColumns) -> tuple[frozenset[str], Changes]:
        """The names of the tools in a row, and the changes of its prompt columns."""
        return sharegpt.find_described_tools(given)

    def build_row(self, sample: ExportSample, exchanges: Sequence[Exchange], given: PromptColumns = NO_PROMPTS) -> Row:
        """The row of a reply; the exchanges end with it."""
        return self._build(pairs.REPLY, sample, exchanges, given)

    def build_gate_row(self, sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
        """The row of a decision of memory_gate."""
        exchange, done = build_gate_exchange(sample, decision, self.SPELLING, characters=characters)
        row = self._build(pairs.GATE, sample, [exchange])
        return row, done | exchange.changes | metadata.find_trait_changes(sample)

    def build_guardian_row(
        self, sample: ExportSample, write_answer: WriteAnswer, *, characters: int
    ) -> tuple[Row, Changes]:
        """The row of an answer of write_guardian."""
        exchange, done = build_guardian_exchange(sample, write_answer, self.SPELLING, characters=characters)
        return self._build("guardian", sample, [exchange]), done | exchange.changes

    def _build(
        self,
        task: str,
        sample: ExportSample,
        exchanges: Sequence[Exchange],
        given: PromptColumns = NO_PROMPTS,
    ) -> Row:
        pair = pairs.find_pair(task, sample)
        if pair is None:
            raise ValueError("a sample without a pair has no row")
        return self.write(sample, self._cut_answer(exchanges), pair, given)

    def _cut_answer(self, exchanges):
        """The exchanges without the answer that ends them."""
        *earlier, own = exchanges
        question = Exchange(own.messages[:-1], own.changes, self.SPELLING)
        question.broken = own.broken
        return [*earlier, question]


class Preference(JudgedFormat):
    """Pairs as TRL reads them: `prompt`, `chosen` and `rejected` are messages."""

    SPELLING = PromptMessages()
    COLUMNS = ("prompt", "chosen", "rejected", "tools", *ABOUT)

    def write(self, sample: ExportSample, exchanges: list[Exchange], pair: AnswerPair, given: PromptColumns) -> Row:
        """The row of a pair."""
        return {
            "prompt": Conversation(messages.begin_with_prompt(exchanges, given, self.SPELLING)),
            "chosen": [self.SPELLING.build_answer(pair.chosen)],
            "rejected": [self.SPELLING.build_answer(pair.rejected)],
            "tools": given.text(TOOLS),
            **messages.build_about(sample, given),
        }


class OpenAIPreference(JudgedFormat):
    """Pairs as OpenAI reads them, without any column of ours."""

    SPELLING = OpenAIPrompt()
    COLUMNS = ("input", "preferred_output", "non_preferred_output")

    def find_described_tools(self, given: PromptColumns) -> tuple[frozenset[str], Changes]:
        """The names of the tools as OpenAI takes them, and the changes of the prompt columns."""
        return openai.find_described_tools(given)

    def write(self, _sample: ExportSample, exchanges: list[Exchange], pair: AnswerPair, given: PromptColumns) -> Row:
        """The row of a pair."""
        prompt = Conversation(messages.begin_with_prompt(exchanges, given, self.SPELLING))
        return {
            "input": {"messages": prompt.messages, "tools": openai.read_tools(given), "parallel_tool_calls": True},
            "preferred_output": [self.SPELLING.build_answer(pair.chosen)],
            "non_preferred_output": [self.SPELLING.build_answer(pair.rejected)],
        }


class LlamaFactoryPreference(JudgedFormat):
    """Pairs as LLaMA-Factory reads them: each answer is one message of ShareGPT."""

    SPELLING = ShareGPTPrompt()
    COLUMNS = ("conversations", "chosen", "rejected", "system", "tools", *ABOUT)

    def write(self, sample: ExportSample, exchanges: list[Exchange], pair: AnswerPair, given: PromptColumns) -> Row:
        """The row of a pair."""
        return {
            "conversations": Conversation(exchanges),
            "chosen": self.SPELLING.build_answer(pair.chosen),
            "rejected": self.SPELLING.build_answer(pair.rejected),
            "system": given.text(SYSTEM),
            "tools": given.text(TOOLS),
            **messages.build_about(sample, given),
        }


class KTO(JudgedFormat):
    """Single answers as TRL's KTO reads them: `label` says whether people approved the answer."""

    SPELLING = PromptMessages()
    COLUMNS = ("prompt", "completion", "label", "tools", *ABOUT)
    is_paired = False

    def write(self, sample: ExportSample, exchanges: list[Exchange], pair: AnswerPair, given: PromptColumns) -> Row:
        """The row of an answer: the chosen one where it was approved, else the rejected one."""
        is_right = bool(pair.chosen)
        return {
            "prompt": Conversation(messages.begin_with_prompt(exchanges, given, self.SPELLING)),
            "completion": [self.SPELLING.build_answer(pair.chosen if is_right else pair.rejected)],
            "label": is_right,
            "tools": given.text(TOOLS),
            **messages.build_about(sample, given),
        }

    def _build(
        self,
        task: str,
        sample: ExportSample,
        exchanges: Sequence[Exchange],
        given: PromptColumns = NO_PROMPTS,
    ) -> Row:
        is_right = {
            pairs.REPLY: sample.is_approved,
            pairs.GATE: not sample.is_gate_wrong,
        }.get(task, not sample.is_guardian_wrong)
        answer = exchanges[-1].messages[-1]["content"]
        if task == pairs.REPLY and not is_right:
            answer = sample.agent_reply  # what was rejected is what the agent said
        pair = AnswerPair(answer, "") if is_right else AnswerPair("", answer)
        return self.write(sample, self._cut_answer(exchanges), pair, given)


FORMATS: dict[str, JudgedFormat] = {
    "preference": Preference(),
    "openai_preference": OpenAIPreference(),
    "llamafactory_preference": LlamaFactoryPreference(),
    "kto": KTO(),
}
PAIRED = frozenset(name for name, exporter in FORMATS.items() if exporter.is_paired)
