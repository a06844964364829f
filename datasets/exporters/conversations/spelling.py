"""The interface of a format: how it writes messages and which rules these keep."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..changes import Changes
from ..samples import ExportSample

Message = dict[str, Any]  # in the form of the format


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a row breaks.

    `place` is the column or the number of the message, from 1.
    """

    rule: str
    place: str = ""


class Call(Protocol):
    """A tool call as the transcript has it."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Step:
    """Tool calls that ran side by side, with their results.

    `words` are what the agent said before the calls. `first` is the number of the first call within the branch, from 1:
    ids that are made of it are unique.
    """

    calls: list[Call]
    results: list[str]
    words: list[str]
    changes: Changes
    first: int


class Spelling(Protocol):
    """How a format writes a conversation: see formats.sharegpt and formats.openai."""

    @property
    def column(self) -> str:
        """The column that holds the messages."""
        ...

    @property
    def text(self) -> str:
        """The key of a message that holds its text."""
        ...

    def build_question(self, text: str) -> Message:
        """A message with a person's words."""
        ...

    def build_answer(self, text: str) -> Message:
        """A message with the agent's words at the end of a turn."""
        ...

    def build_own_answer(self, sample: ExportSample, text: str) -> Message:
        """The answer that a row teaches, with what the format says of its sample."""
        ...

    def build_calls(self, step: Step, done: set[str]) -> list[Message]:
        """The messages of calls and their results; what was changed to fit is added to `done`."""
        ...

    def mark_messages(self, messages: list[Message], train: bool) -> list[Message]:
        """The same messages, each saying whether its words of the agent are to be learned."""
        ...

    def get_result(self, message: Message) -> str | None:
        """The text of a tool result; None for every other message."""
        ...

    def replace_result(self, message: Message, text: str) -> Message:
        """The message of a tool result with another text."""
        ...

    def size(self, messages: Iterable[Message]) -> int:
        """The number of characters in the messages."""
        ...

    def read_texts(self, messages: Iterable[Message]) -> Iterable[str]:
        """The texts of the messages, without what the format itself put around them."""
        ...

    def find_called_tools(self, messages: Iterable[Message]) -> frozenset[str]:
        """The names of the tools that the messages call, of those that can be read."""
        ...

    def find_broken_rules(self, messages: object) -> list[BrokenRule]:
        """The rules that the messages of a conversation break.

        The messages may be anything that a loader could read from a file.
        """
        ...
