"""Conversations as trainers want them, and what a trainer drops without a word when it is otherwise.

A conversation is a row of exchanges. Rows of a session share most of theirs: each is cleaned, checked and put into
JSON once, when it is made.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from ..changes import CHARACTERS_REPLACED, Changes
from ..cleaning import as_json
from ..lengths import weight_of_all

Message = dict[str, Any]  # {"from": ..., "value": ...}, and "train" where what is not to be learned is marked
HUMAN, AGENT, CALL, RESULT = "human", "gpt", "function_call", "observation"
ASKING, ANSWERING = frozenset({HUMAN, RESULT}), frozenset({AGENT, CALL})
MESSAGE_KEYS, MARKED_KEYS = ["from", "value"], ["from", "value", "train"]
THINK = ("<think>", "</think>")
THOUGHT = re.compile(rf"{THINK[0]}.*?{THINK[1]}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a row breaks; `place` is the column or the number of the message, from 1."""

    rule: str
    place: str = ""


class Exchange:
    """From a user's words to the agent's answer: starts on the one side, ends on the other, so any number fit.

    `train`: whether what the agent says in it is to be learned, written into each message; None: not marked.
    """

    __slots__ = ("broken", "changes", "json", "messages", "size", "weight")

    def __init__(self, messages: list[Message], changes: Iterable[str], train: bool | None = None):
        if train is not None:
            messages = [message | {"train": train and message["from"] in ANSWERING} for message in messages]
        data, self.messages, is_cleaned = as_json(messages)
        self.json = data[1:-1]
        self.size = size_of(messages)
        self.weight = weight_of_all(message["value"] for message in self.messages)
        self.changes: Changes = frozenset([*changes, CHARACTERS_REPLACED] if is_cleaned else changes)
        self.broken = broken_messages(self.messages)


@dataclass(slots=True)
class Conversation:
    """The `conversations` column of a row."""

    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """All messages, in order."""
        return [message for exchange in self.exchanges for message in exchange.messages]

    @property
    def changes(self) -> Changes:
        """What was done to any of its exchanges."""
        return frozenset().union(*[exchange.changes for exchange in self.exchanges])

    @property
    def lengths(self) -> tuple[int, int]:
        """Characters, and eighths of tokens (lengths.weight_of), of all messages."""
        return sum(exchange.size for exchange in self.exchanges), sum(exchange.weight for exchange in self.exchanges)

    @property
    def json(self) -> bytes:
        """The messages as JSON, without brackets."""
        return b",".join([exchange.json for exchange in self.exchanges])

    @property
    def broken(self) -> list[Broken]:
        """The rules that its messages break. Exchanges that break none follow each other without breaking one."""
        if any(exchange.broken for exchange in self.exchanges):
            return broken_messages(self.messages)
        return [] if self.exchanges else [Broken("odd_count")]


def size_of(messages: Iterable[Message]) -> int:
    """How many characters they say."""
    return sum(len(message["value"]) for message in messages)


def broken_messages(messages: object) -> list[Broken]:
    """The rules that the messages of a conversation break."""
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        return [Broken("odd_count")]
    broken: list[Broken] = []
    before = ""
    keys = MARKED_KEYS if "train" in messages[0] else MESSAGE_KEYS
    for number, message in enumerate(messages):
        if list(message) != keys or not isinstance(message["value"], str):
            return [*broken, Broken("message_keys", str(number + 1))]  # what follows cannot be judged
        role = message["from"]
        if rule := _misplaced(role, number, before) or _empty_or_no_call(role, message["value"]):
            broken.append(Broken(rule, str(number + 1)))
        before = role
    if not broken and before != AGENT:
        broken.append(Broken("no_reply", str(len(messages))))
    return broken


def _misplaced(role, number, before):
    """The rule about sides that a message breaks; None when it breaks none."""
    if role not in (ANSWERING if number % 2 else ASKING) or (number == 0 and role != HUMAN):
        return "alternation"
    if (role == RESULT) == (before == CALL):
        return None
    return "call_without_result" if before == CALL else "result_without_call"


def _empty_or_no_call(role, value):
    """The rule about texts that a message breaks; None when it breaks none."""
    if role == CALL:
        return None if _is_call(value) else "call"
    return "empty" if role != RESULT and (not value or value.isspace()) else None


@lru_cache(maxsize=16)  # a turn is an exchange twice: with the reply to learn, and in the history of what follows
def _is_call(value):
    try:
        calls = orjson.loads(THOUGHT.sub("", value, count=1) if value.startswith(THINK[0]) else value)
    except orjson.JSONDecodeError:
        return False
    calls = calls if isinstance(calls, list) else [calls]
    return bool(calls) and all(
        isinstance(call, dict)
        and list(call) == ["name", "arguments"]
        and isinstance(call["name"], str)
        and call["name"] != ""
        and isinstance(call["arguments"], dict)
        for call in calls
    )
