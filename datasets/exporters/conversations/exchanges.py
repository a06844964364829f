"""Conversations in the form that trainers accept, as sequences of exchanges.

Trainers drop a conversation of another form without a message. Rows of a session share most of their exchanges: each is
cleaned, checked and encoded as JSON once, when it is created.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from ..changes import CHARACTERS_REPLACED, NO_CHANGES, OPEN_FINDINGS, Changes
from ..json_output import encode_value
from ..markers import TokenNumbers, has_marker
from ..text_scan import ScanResult, merge_scans, scan_texts
from ..token_estimate import estimate_total_weight
from .spelling import BrokenRule, Message, Spelling


class Exchange:
    """The messages from a user's words to the agent's answer.

    An exchange starts on one side and ends on the other, so that any number of them form a conversation.

    `seen` is the scan of its texts. `train`: whether the agent's words in it are to be learned, written into each
    message; None: not marked. `messages` and `json` have markers, whose tokens each row numbers for itself; sizes are
    those with tokens.
    """

    __slots__ = ("broken", "calls", "changes", "json", "messages", "seen", "size", "spelling", "weight")

    def __init__(
        self, messages: list[Message], changes: Iterable[str], spelling: Spelling, *, train: bool | None = None
    ):
        if train is not None:
            messages = spelling.mark_messages(messages, train)
        data, self.messages, is_cleaned = encode_value(messages)
        self.json = data[1:-1]
        self.changes: Changes = frozenset(changes)
        if is_cleaned:
            self.changes |= {CHARACTERS_REPLACED}
        readable = self.messages
        if has_marker(data):
            numbers = TokenNumbers()
            readable = orjson.loads(numbers.encode(data))
            self.changes |= {OPEN_FINDINGS} if numbers.has_open else NO_CHANGES
        self.size = spelling.size(readable)
        self.weight = estimate_total_weight(spelling.read_texts(readable))
        self.seen = scan_texts(spelling.read_texts(messages))
        self.broken = spelling.find_broken_rules(self.messages)
        self.calls = spelling.find_called_tools(self.messages)  # names of tools
        self.spelling = spelling


@dataclass(slots=True)
class Conversation:
    """The column of a row that holds its messages."""

    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """All messages, in order."""
        return [message for exchange in self.exchanges for message in exchange.messages]

    @property
    def texts(self) -> list[str]:
        """The texts of its messages, in order."""
        keyed_messages = (
            (exchange.spelling.text, message) for exchange in self.exchanges for message in exchange.messages
        )
        return [message[key] for key, message in keyed_messages if key in message]

    @property
    def changes(self) -> Changes:
        """The changes of all its exchanges."""
        return frozenset().union(*[exchange.changes for exchange in self.exchanges])

    @property
    def seen(self) -> ScanResult:
        """The scans of its exchanges, merged."""
        return merge_scans([exchange.seen for exchange in self.exchanges])

    @property
    def lengths(self) -> tuple[int, int]:
        """Characters, and eighths of tokens (token_estimate.estimate_weight), of all messages."""
        return sum(exchange.size for exchange in self.exchanges), sum(exchange.weight for exchange in self.exchanges)

    @property
    def json(self) -> bytes:
        """The messages as JSON, without brackets."""
        return b",".join([exchange.json for exchange in self.exchanges])

    @property
    def broken(self) -> list[BrokenRule]:
        """The rules that its messages break.

        Exchanges that break no rule break none together.
        """
        if any(exchange.broken for exchange in self.exchanges):
            return self.exchanges[0].spelling.find_broken_rules(self.messages)
        return [] if self.exchanges else [BrokenRule("odd_count")]
