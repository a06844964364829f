"""Transcripts as trainers want them: a user's words, then pairs of tool calls and results, then the answer.

Trainers drop a row silently when its sides do not alternate. A turn is brought into that shape once, here, and
everything that has to go for it is named.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from .. import changes
from ..cleaning import clean
from .exchanges import CALL, RESULT, THINK, Message

# How calls that ran side by side are told: as one list with one answer, or one after the other.
LIST, SPLIT = PARALLEL = ("list", "split")


class Call(Protocol):
    """A tool call as the transcript has it."""

    id: str
    name: str
    arguments: dict[str, Any]


class Said(Protocol):
    """A message of a branch: see datasets.exporting.branches.Message."""

    role: str
    text: str
    turn_number: int | None
    calls: Any
    tool_call_id: str | None
    is_synthetic: bool
    about: changes.Changes


@dataclass(slots=True)
class Step:
    """Tool calls that ran side by side, with what was said before them (`words`), and their results."""

    calls: list[Call]
    results: list[str]
    words: list[str]
    changes: frozenset[str]


@dataclass(slots=True)
class Turn:
    """One user message and what came of it: tool calls and their results (`steps`), then what the agent said last.

    Without an answer there are no steps either: nothing that a tool returned stands before another person's words.
    """

    number: int | None
    user_text: str
    steps: list[Message] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    changes: set[str] = field(default_factory=set)


def turns_of(messages: Iterable[Said], *, keep_text: bool = False, parallel_calls: str = LIST) -> Iterator[Turn]:
    """The turns of a branch, one at a time. `keep_text`: what the agent said before a call stays, as its thought.

    `parallel_calls`: one of PARALLEL.
    """
    turn: Turn | None = None
    reader = _Reader(keep_text, parallel_calls)
    has_opening = False
    for message in messages:
        if message.role == "user":
            if turn:
                yield reader.finish(turn)
            turn = Turn(message.turn_number, message.text)
            if has_opening:
                turn.changes.add(changes.OPENING_DROPPED)
                has_opening = False
        elif turn:
            reader.read(message, turn)
        else:
            has_opening = True
    if turn:
        yield reader.finish(turn)


def call_value(calls: list[Call]) -> str:
    """Tool calls as trainers read them: one object, or a list when they ran side by side."""
    values = [{"name": call.name, "arguments": call.arguments} for call in calls]
    value: Any = values[0] if len(values) == 1 else values
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number orjson has no room for
        return json.dumps(clean(value), ensure_ascii=False)


class _Reader:
    """Reads what follows a user message. Calls stay open until the next message after their results."""

    def __init__(self, keep_text, parallel_calls):
        self.keep_text = keep_text
        self.is_split = parallel_calls == SPLIT
        self.steps: list[Step] = []
        self.texts: list[str] = []
        self.calls: list[Call] = []
        self.results: dict[str, Said] = {}

    def read(self, message, turn):
        if message.role == "tool":
            self._read_result(message, turn)
        elif message.is_synthetic:
            turn.changes.add(changes.SYNTHETIC_DROPPED)
        else:
            if self.results:
                self._settle(turn)
            if message.text.strip():
                self.texts.append(message.text)
            self.calls += message.calls

    def finish(self, turn):
        """The turn, complete: what was said after its last tool result is its answer.

        When nothing was, what was said last is, and the calls and results after it are left out.
        """
        self._settle(turn)
        turn.answers, self.texts = self.texts, []
        steps, self.steps = self.steps, []
        if steps and not turn.answers:
            turn.changes.add(changes.TAIL_DROPPED)
            while steps and not turn.answers:
                turn.answers = steps.pop().words
        for step in steps:
            self._write(step, turn)
        return turn

    def _read_result(self, message, turn):
        key = message.tool_call_id
        if key and key not in self.results and any(call.id == key for call in self.calls):
            self.results[key] = message
        else:
            turn.changes.add(changes.RESULTS_DROPPED)

    def _settle(self, turn):
        """Write down the calls that were answered, in the order they were asked, and forget the others."""
        answered = [(call, self.results.pop(call.id)) for call in self.calls if call.name and call.id in self.results]
        if len(answered) < len(self.calls):
            turn.changes.add(changes.CALLS_DROPPED)
        if answered:
            calls, results = zip(*answered, strict=True)
            about = frozenset().union(*[result.about for result in results])
            self.steps.append(Step(list(calls), [result.text for result in results], self.texts, about))
            self.texts = []
        self.calls, self.results = [], {}

    def _write(self, step, turn):
        """Put a step into a turn as messages."""
        turn.changes |= step.changes
        thought = self._thought(step.words, turn)
        if len(step.calls) > 1:
            turn.changes.add(changes.CALLS_SPLIT if self.is_split else changes.TOOL_RESULTS_MERGED)
        if not self.is_split:
            value = thought + call_value(step.calls)
            turn.steps += [{"from": CALL, "value": value}, {"from": RESULT, "value": "\n\n".join(step.results)}]
            return
        for call, result in zip(step.calls, step.results, strict=True):
            turn.steps += [{"from": CALL, "value": thought + call_value([call])}, {"from": RESULT, "value": result}]
            thought = ""

    def _thought(self, words, turn):
        """What was said before a call: it has no place of its own in the format."""
        if not words:
            return ""
        text = "\n\n".join(words)
        if not self.keep_text:
            turn.changes.add(changes.TEXT_BEFORE_CALL_DROPPED)
            return ""
        turn.changes.add(changes.TEXT_BEFORE_CALL_KEPT)
        for tag in THINK:
            text = text.replace(tag, "")
        return f"{THINK[0]}{text}{THINK[1]}"
