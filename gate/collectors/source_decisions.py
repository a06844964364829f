"""What the readers of memory_gate's traces give: decisions, what was said before them, and lines that are none."""

import hashlib
from collections import deque
from dataclasses import dataclass, field

import orjson

NO_WRITE = "NO_WRITE"
UPDATES = ("UPDATE_MEMORY", "UPDATE_USER", "UPDATE_SOUL", "UPDATE_IDENTITY", "UPDATE_TOOLS")
DECISIONS = frozenset((NO_WRITE, *UPDATES))
ROLES = ("user", "agent")
WINDOW_MESSAGES, WINDOW_BYTES = 64, 256 * 1024  # of what a gate was given: older messages are left out
# How the plugin begins the reason of a NO_WRITE that no model decided.
FAILURES = {
    "LLM request failed": "llm_request_failed",
    "Missing candidate_fact": "missing_candidate_fact",
    "Invalid decision": "invalid_decision",
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line, or a row of a database, that cannot be used: one word of `rejected_records`, and what is wrong."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message as the gate was given it; `sender` is the address it came from, when the plugin wrote it down."""

    role: str
    message: str
    timestamp: int
    sender: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SourceDecision:
    """One decision; everything that its source does not say, or says only perhaps, is None."""

    id: str
    at: int
    session_key: str | None  # as the plugin calls the conversation
    original_key: str | None  # as OpenClaw does, when the plugin said so
    decision: str
    reason: str
    fact: str | None
    has_fact: bool | None
    failure: str  # which call failed, when nothing was decided; else empty
    model: str | None
    latency_ms: int | None
    window: tuple[SourceMessage, ...] | None  # the recent messages that the gate was given
    expected: int | None  # how many those were, as the plugin counted them
    saw_user: bool | None  # whether any message of a person was among all that the plugin had of the conversation
    saw_reply: bool | None
    reply: SourceMessage | None  # the agent's message that was judged: the last one when the gate was asked
    workspace: str | None
    left_out: int = field(default=0, kw_only=True)  # messages that the gate was given, older than those of the window


@dataclass(slots=True)
class RecentMessages:
    """The newest messages of a conversation, as many as a window may have; the older ones are only counted."""

    messages: deque[SourceMessage] = field(default_factory=deque)
    size: int = 0
    left_out: int = 0

    def add(self, said: SourceMessage) -> None:
        """A message after the others."""
        self.messages.append(said)
        self.size += len(said.message.encode(errors="replace"))
        while len(self.messages) > WINDOW_MESSAGES or self.size > WINDOW_BYTES:
            self.size -= len(self.messages.popleft().message.encode(errors="replace"))
            self.left_out += 1

    def drop_last(self) -> SourceMessage | None:
        """Take the newest message out, if its words are kept."""
        said = self.messages.pop() if self.messages else None
        self.size -= len(said.message.encode(errors="replace")) if said else 0
        return said


def parse_failure(decision: str, reason: str) -> str:
    """Which failed call a decision stands for; empty when a model decided."""
    if decision != NO_WRITE:
        return ""
    return next((word for start, word in FAILURES.items() if reason.startswith(start)), "")


def compute_decision_id(at: int, session_key: str | None, decision: str, reason: str, ordinal: int) -> str:
    """The id of a decision that was written without one: the same for the same decision, in whichever file it is."""
    return hashlib.sha256(orjson.dumps([at, session_key, decision, reason, ordinal])).hexdigest()[:32]
