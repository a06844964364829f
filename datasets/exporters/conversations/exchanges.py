"""Conversations as trainers want them, and what a trainer drops without a word when it is otherwise.

A conversation is a row of exchanges. Rows of a session share most of theirs: each is cleaned, checked and put into
JSON once, when it is made.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..changes import CHARACTERS_REPLACED, Changes, build_secret_change
from ..json_output import encode_value
from ..text_scan import ScanResult, merge_scans, scan_texts
from ..token_estimate import estimate_total_weight
from .spelling import BrokenRule, Message, Spelling


class Exchange:
    """From a user's words to the agent's answer: starts on the one side, ends on the other, so any number fit.

    `seen` is what its texts hold beside what they say; a kind of secret is among its changes too.
    `train`: whether what the agent says in it is to be learned, written into each message; None: not marked.
    """

    __slots__ = ("broken", "calls", "changes", "json", "messages", "seen", "size", "spelling", "weight")

    def __init__(
        self, messages: list[Message], changes: Iterable[str], spelling: Spelling, *, train: bool | None = None
    ):
        if train is not None:
            messages = spelling.mark_messages(messages, train)
        data, self.messages, is_cleaned = encode_value(messages)
        self.json = data[1:-1]
        self.size = spelling.size(messages)
        self.weight = estimate_total_weight(spelling.read_texts(self.messages))
        self.seen = scan_texts(spelling.read_texts(messages))
        self.changes: Changes = frozenset(changes).union(map(build_secret_change, self.seen.kinds))
        if is_cleaned:
            self.changes |= {CHARACTERS_REPLACED}
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
        """What is said in them, message by message."""
        said = ((exchange.spelling.text, message) for exchange in self.exchanges for message in exchange.messages)
        return [message[key] for key, message in said if key in message]

    @property
    def changes(self) -> Changes:
        """What was done to any of its exchanges."""
        return frozenset().union(*[exchange.changes for exchange in self.exchanges])

    @property
    def seen(self) -> ScanResult:
        """What the texts of its exchanges hold beside what they say."""
        return merge_scans([exchange.seen for exchange in self.exchanges])

    @property
    def lengths(self) -> tuple[int, int]:
        """Characters, and eighths of tokens (weights.weight_of), of all messages."""
        return sum(exchange.size for exchange in self.exchanges), sum(exchange.weight for exchange in self.exchanges)

    @property
    def json(self) -> bytes:
        """The messages as JSON, without brackets."""
        return b",".join([exchange.json for exchange in self.exchanges])

    @property
    def broken(self) -> list[BrokenRule]:
        """The rules that its messages break. Exchanges that break none follow each other without breaking one."""
        if any(exchange.broken for exchange in self.exchanges):
            return self.exchanges[0].spelling.broken(self.messages)
        return [] if self.exchanges else [BrokenRule("odd_count")]
