"""Data classes that the readers of memory_gate's files return.

Decisions, the messages before them, and lines that cannot be used.
"""

import hashlib
from collections import deque
from dataclasses import dataclass, field

import orjson

NO_WRITE = "NO_WRITE"
UPDATES = ("UPDATE_MEMORY", "UPDATE_USER", "UPDATE_SOUL", "UPDATE_IDENTITY", "UPDATE_TOOLS")
DECISIONS = frozenset((NO_WRITE, *UPDATES))
ROLES = ("user", "agent")
WINDOW_MESSAGES, WINDOW_BYTES = 64, 256 * 1024  # limits of a stored window: older messages are left out
# The plugin begins the reason of a NO_WRITE without a model's decision with these texts.
FAILURES = {
    "LLM request failed": "llm_request_failed",
    "Missing candidate_fact": "missing_candidate_fact",
    "Invalid decision": "invalid_decision",
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line or a database row that cannot be used, and why.

    `reason` is one word of `rejected_records`.
    """

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message as the gate was given it.

    `sender` is the address it came from, when the plugin wrote it down.
    """

    role: str
    message: str
    timestamp: int
    sender: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SourceDecision:
    """One decision; values that its source lacks, or does not have for sure, are None."""

    id: str
    at: int
    session_key: str | None  # the plugin's key of the conversation
    original_key: str | None  # OpenClaw's key, when the plugin wrote it
    decision: str
    reason: str
    fact: str | None
    has_fact: bool | None
    failure: str  # the failure of a call without a decision; else empty
    model: str | None
    latency_ms: int | None
    window: tuple[SourceMessage, ...] | None  # the recent messages that the gate was given
    expected: int | None  # count of the recent messages, by the plugin
    saw_user: bool | None  # whether the plugin's buffer had a message of a person
    saw_reply: bool | None
    reply: SourceMessage | None  # the agent's message that was judged: the last one at the question
    workspace: str | None
    left_out: int = field(default=0, kw_only=True)  # count of older messages that the gate was given too


@dataclass(slots=True)
class RecentMessages:
    """The newest messages of a conversation, as many as a window may have.

    Older messages are only counted.
    """

    messages: deque[SourceMessage] = field(default_factory=deque)
    size: int = 0
    left_out: int = 0

    def add(self, message: SourceMessage) -> None:
        """Add a message after the others."""
        self.messages.append(message)
        self.size += len(message.message.encode(errors="replace"))
        while len(self.messages) > WINDOW_MESSAGES or self.size > WINDOW_BYTES:
            self.size -= len(self.messages.popleft().message.encode(errors="replace"))
            self.left_out += 1

    def drop_last(self) -> SourceMessage | None:
        """Remove and return the newest message, if there is one."""
        message = self.messages.pop() if self.messages else None
        self.size -= len(message.message.encode(errors="replace")) if message else 0
        return message


def parse_failure(decision: str, reason: str) -> str:
    """Return the failed call that a decision stands for; empty when a model decided."""
    if decision != NO_WRITE:
        return ""
    return next((word for start, word in FAILURES.items() if reason.startswith(start)), "")


def compute_decision_id(at: int, session_key: str | None, decision: str, reason: str, ordinal: int) -> str:
    """Return the id of a decision that was written without one.

    It is the same for the same decision in any file. `at` is in milliseconds.
    """
    return hashlib.sha256(orjson.dumps([at, session_key, decision, reason, ordinal])).hexdigest()[:32]
