"""Conversations in the form that trainers accept, as sequences of exchanges, and their length in tokens.

Trainers drop a conversation of another form without a message. Rows of a session share most of their exchanges: each is
cleaned, checked and encoded as JSON once, when it is created.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import orjson
import re2

from ..json_texts import encode_value
from ..markers import TokenNumbers, has_marker
from .changes import CHARACTERS_REPLACED, REDACTED, Changes
from .dialects import BrokenRule, Dialect, Message

# Texts that tokenizers of widespread models read as one token: sides, ends, tools, thoughts.
NAMED = """
im_start im_end im_sep endoftext startoftext begin_of_text end_of_text eot_id eom_id start_header_id end_header_id
python_tag end start message channel constrain return call endofprompt user assistant system observation tool
image_pad video_pad vision_start vision_end fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep
START_OF_TURN_TOKEN END_OF_TURN_TOKEN USER_TOKEN CHATBOT_TOKEN SYSTEM_TOKEN
"""
OTHERS = """
[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] [TOOL_RESULTS]
[/TOOL_RESULTS] [gMASK] <<SYS>> <</SYS>> <s> </s> <unk> <pad> <bos> <eos> <sop> <eop> <start_of_turn> <end_of_turn>
<think> </think> <tool_call> </tool_call> <tool_response> </tool_response>
<｜User｜> <｜Assistant｜> <｜begin▁of▁sentence｜> <｜end▁of▁sentence｜>
"""
CONTROL_TOKENS = (*(f"<|{name}|>" for name in NAMED.split()), *OTHERS.split())
TOKEN = re2.compile("|".join(map(re.escape, CONTROL_TOKENS)).encode())


def scan_texts(texts: Iterable[str]) -> frozenset[str]:
    """Scan texts for control tokens.

    None of them has a line break, so the texts are joined by line breaks and scanned at once.
    """
    data = "\n".join(texts).encode("utf-8", "replace")
    return frozenset(token.decode() for token in TOKEN.findall(data))


@lru_cache(maxsize=64)
def scan_shared_text(text: str) -> frozenset[str]:
    """Scan one text that many rows share; the result is cached."""
    return scan_texts([text])


EIGHTHS = 8


def estimate_weight(text: str) -> int:
    """Estimate the tokens of a text, in eighths of a token.

    A character counts a quarter of a token, each byte of it beyond the first 3/8 more: English is a quarter of a token
    a letter, Cyrillic and accents 5/8, Chinese and Japanese one token a character.
    """
    length = len(text)
    return 2 * length if text.isascii() else 2 * length + 3 * (len(text.encode("utf-8", "replace")) - length)


def estimate_total_weight(texts: Iterable[str]) -> int:
    """Estimate the tokens of several texts together, in eighths of a token."""
    return sum(map(estimate_weight, texts))


class Exchange:
    """The messages from a user's words to the agent's answer.

    An exchange starts on one side and ends on the other, so that any number of them form a conversation.

    `seen` is the scan of its texts. `train`: whether the agent's words in it are to be learned, written into each
    message; None: not marked. `messages` and `json` have markers, whose tokens each row numbers for itself; sizes are
    those with tokens.
    """

    __slots__ = ("broken", "calls", "changes", "dialect", "json", "messages", "seen", "size", "weight")

    def __init__(self, messages: list[Message], changes: Iterable[str], dialect: Dialect, *, train: bool | None = None):
        if train is not None:
            messages = [dialect.mark_message(message, train) for message in messages]
        data, self.messages, is_cleaned = encode_value(messages)
        self.json = data[1:-1]
        self.changes: Changes = frozenset(changes)
        if is_cleaned:
            self.changes |= {CHARACTERS_REPLACED}
        readable = self.messages
        if has_marker(data):
            numbers = TokenNumbers()
            readable = orjson.loads(numbers.encode(data))
            self.changes |= numbers.changes - {REDACTED}
        self.size = dialect.size(readable)
        self.weight = estimate_total_weight(dialect.read_texts(readable))
        self.seen = scan_texts(dialect.read_texts(messages))
        self.broken = dialect.find_broken_rules(self.messages)
        self.calls = frozenset().union(*map(dialect.find_called, self.messages))  # names of tools
        self.dialect = dialect


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
            (exchange.dialect.text, message) for exchange in self.exchanges for message in exchange.messages
        )
        return [message[key] for key, message in keyed_messages if key in message]

    @property
    def changes(self) -> Changes:
        """The changes of all its exchanges."""
        return frozenset().union(*[exchange.changes for exchange in self.exchanges])

    @property
    def seen(self) -> frozenset[str]:
        """The scans of its exchanges, merged."""
        return frozenset().union(*[exchange.seen for exchange in self.exchanges])

    @property
    def lengths(self) -> tuple[int, int]:
        """Characters, and eighths of tokens (estimate_weight), of all messages."""
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
            return self.exchanges[0].dialect.find_broken_rules(self.messages)
        return [] if self.exchanges else [BrokenRule("odd_count")]
