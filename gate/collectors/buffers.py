"""Rebuilds from the plugin's log the messages it had in memory when it asked the gate.

The plugin keeps the last messages of each conversation. After a message of the agent it gives the gate the most recent
of them; while a conversation has an open question, or a write that follows from it, its next question waits. The line
of a question says how many messages were given, but not of which conversation: that is inferred from the other lines.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from .source_decisions import RecentMessages, SourceMessage

MAX_SAID = 1000  # messages counted of one conversation; the newest of them are kept (RecentMessages)
MAX_KEYS = 5000  # conversations in memory,
MAX_HELD = 16 * 1024 * 1024  # and bytes of them
MAX_OPEN = 64  # questions that may still be answered: each has a window
MAX_ASKERS = 500  # conversations that are compared with one question; of more, nobody knows which one asked
NEAR_MS = 100  # between the line that lets a conversation ask and its question
DRIFT_MS = 5_000  # tolerance between two estimates of when a process started
SETTLED_MS = 600_000  # after missing lines: by then questions that were open before them are answered


@dataclass(slots=True, eq=False)
class Question:
    """A question to the gate.

    `at` and `expected` (the count of messages) are None where the log has no line of the question.
    """

    at: int | None = None
    expected: int | None = None
    saw_user: bool | None = None
    saw_reply: bool | None = None
    window: tuple[SourceMessage, ...] | None = None
    left_out: int = 0  # count of older messages that it was given too
    reply: SourceMessage | None = None
    original: str | None = None


@dataclass(slots=True)
class Buffer:
    """The messages of a conversation: all roles, the newest texts, and the last key."""

    roles: deque[str]
    newest: RecentMessages = field(default_factory=RecentMessages)
    original: str | None = None  # the last key: OpenClaw's key of the conversation
    is_whole: bool = False  # holds all messages since the plugin created the buffer
    is_sure: bool = True  # no line contradicts its content

    @property
    def size(self) -> int:
        """Return about how many bytes the buffer takes."""
        return self.newest.size + 200 * len(self.newest.messages) + 8 * len(self.roles)

    def add(self, message: SourceMessage, original: str | None) -> None:
        """Add a message after the others."""
        self.roles.append(message.role)
        self.newest.add(message)
        self.original = original or self.original

    def drop_last(self) -> SourceMessage | None:
        """Remove and return the last message."""
        self.roles.pop()
        return self.newest.drop_last()

    def last_reply(self) -> SourceMessage | None:
        """Return the last message of the agent, if it is among the newest."""
        newest_first = islice(reversed(self.newest.messages), len(self.roles))
        return next((message for message in newest_first if message.role == "agent"), None)

    def has_user_message(self) -> bool | None:
        """Return whether the buffer has a message of a person.

        None when there may have been one before the known messages.
        """
        return "user" in self.roles or (False if self.is_whole else None)

    def fits(self, question: Question, width: int | None) -> bool:
        """Return whether the gate can have got this buffer, given at most `width` messages."""
        known, expected = len(self.roles), question.expected
        if expected is None or (width is not None and expected > width):
            return False
        if expected != known and (self.is_whole or expected < known):
            cut = expected < known and width in (expected, None)
            if not cut:
                return False
        has_user = self.has_user_message()
        return has_user is None or question.saw_user in (has_user, None)

    def give(self, question: Question, count: int) -> None:
        """Set a question's window to the last `count` messages.

        The window is not set when fewer messages are known, or when the buffer is not sure.
        """
        if not self.is_sure or count > len(self.roles):
            return
        messages = tuple(self.newest.messages)
        question.window = messages[max(len(messages) - count, 0) :]
        question.left_out = count - len(question.window)


@dataclass(slots=True)
class PluginState:
    """The state of all conversations since one start of the plugin.

    After missing lines, unknown conversations may have open questions: for a while only a question that follows at once
    has a known conversation.
    """

    knows_all: bool = False  # every conversation is known since the plugin created its buffer
    uncreated: tuple[str, SourceMessage, str | None] | None = None  # heard in a new conversation: the next line says so
    before: "PluginState | None" = None  # state of the process before, until this one gets a message
    process: int | None = None  # start of the process that last wrote its uptime
    model: str | None = None
    workspace: str | None = None
    now: float = 0
    mixed_at: float = -math.inf  # the last line that shows that two processes write this log
    # Time of the last missing line. A log may begin in the middle, so it is set with the first known time.
    gap_at: float = math.inf
    capacity: int | None = None
    width: int | None = None  # messages that the gate is given at most
    is_silent: bool = False  # the log has no lines of questions: they are inferred from the other lines
    near: str | None = None  # the conversation that asks next, if the next line is a question
    near_at: float = 0
    buffers: dict[str, Buffer] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)  # messages of the agent without a question yet
    open: dict[str, Question] = field(default_factory=dict)
    lost: int = 0  # count of open questions whose conversation is unknown
    busy: dict[str, None] = field(default_factory=dict)  # conversations whose write may be unfinished
    last: str | None = None  # the conversation of the last message
    held: int = 0  # bytes of all buffers

    @property
    def is_sure(self) -> bool:
        """Return whether all open questions are known."""
        return self.now - self.gap_at >= SETTLED_MS

    def set_time(self, now: int) -> None:
        """Set the time of a line, in milliseconds."""
        self.now = now
        self.gap_at = min(self.gap_at, now)

    def restart(self) -> "PluginState":
        """Return the state of a process that starts: no messages.

        Where questions were open, the process before may still be at work.
        """
        is_over = self.is_sure and not (self.open or self.waiting or self.lost)
        is_first = self.now == 0
        return PluginState(
            knows_all=True,
            before=None if is_first else self.before or self,
            gap_at=-math.inf if is_over or is_first else self.now,
            workspace=self.workspace,
        )

    def note_heartbeat(self, started: int) -> "PluginState":
        """Take the start time by which a process identifies itself, and return the new state."""
        state = self
        if self.process is not None and abs(started - self.process) > DRIFT_MS:
            state = self._note_other_process()
        state.process = started
        return state

    def note_other_line(self) -> "PluginState":
        """Take a line that is not about a new buffer, and return the new state."""
        if self.uncreated is None:
            return self
        key, message, original = self.uncreated
        state = self._note_other_process()  # another process created the buffer
        state.add_message(key, message, original)
        return state

    def note_gate_line(self) -> "PluginState":
        """Take a line about a question or a decision, and return the new state."""
        return self if self.before is None else self._note_other_process()  # this process has no message yet

    def _note_other_process(self):
        """Take note that another process, with messages of its own, writes this log too.

        A process that only started was a command, and the process before it continues. Of two processes that both get
        messages no content is certain.
        """
        if self.before is not None:
            self.before.set_time(int(self.now))
            return self.before
        self.note_gap()
        self.mixed_at = self.now
        return self

    def note_gap(self) -> None:
        """Take note of missing lines, which may hold any message, question or decision."""
        self.gap_at, self.near, self.knows_all, self.uncreated, self.before = math.inf, None, False, None, None
        self.held = 0
        for collection in (self.buffers, self.waiting, self.open, self.busy):
            collection.clear()

    def add_message(self, key: str, message: SourceMessage, original: str | None) -> None:
        """Add a message to its conversation's buffer.

        The line of a message comes before the line of a new buffer.
        """
        # Two processes may be writing, each with messages of its own in memory.
        if self.now - self.mixed_at < SETTLED_MS:
            return
        if self.knows_all and key not in self.buffers:
            self.uncreated = (key, message, original)
        buffer = self._get_buffer(key)
        self.held -= buffer.size
        buffer.add(message, original)
        self.held += buffer.size
        self._make_room()
        self.last = key
        if message.role == "agent":
            self.waiting[key] = self.waiting.get(key, 0) + 1
            if len(self.waiting) > MAX_KEYS:
                del self.waiting[next(iter(self.waiting))]
            self._let_ask(key)

    def create_buffer(self, key: str) -> None:
        """Create a buffer, which has the message of the line before."""
        self.uncreated = self.before = None
        previous_buffer = self._drop_buffer(key)
        if previous_buffer is not None and len(previous_buffer.roles) > 1:
            self._note_other_process()  # this process had a buffer for the conversation already
            return
        buffer = self._get_buffer(key)
        if previous_buffer is not None and previous_buffer.newest.messages and self.last == key:
            buffer.add(previous_buffer.newest.messages[-1], previous_buffer.original)
            self.held += buffer.size
            buffer.is_whole = True
        if self.is_silent and self.near == key and key in self.open:
            self._infer_question(self.open[key], buffer)

    def drop_repeated(self, key: str) -> None:
        """Remove the last message, which the plugin did not add because it was a repeat."""
        buffer = self.buffers.get(key)
        if buffer is None or not buffer.roles or self.last != key:
            return
        self.held -= buffer.size
        buffer.drop_last()
        self.held += buffer.size
        self.last = None
        if self.is_silent and self.near == key:
            self.open.pop(key, None)
        else:
            self._count_asked(key)
        self.near = None

    def clear_buffer(self, key: str) -> None:
        """Clear the buffer of a conversation that was reset."""
        self._drop_buffer(key)

    def reset_buffer(self, key: str) -> None:
        """Empty a buffer after a message that cannot be read."""
        self._drop_buffer(key)
        self._get_buffer(key)

    def open_question(self, question: Question, near: str | None) -> None:
        """Add a question, and find its conversation.

        That is the conversation whose turn it is to ask, or the only one that fits.
        """
        key = self._find_asker(question, near)
        if key is None:
            self.lost += 1
            return
        self._count_asked(key)
        self._open_question(key, question)
        buffer = self._get_buffer(key)
        if buffer.fits(question, self.width):
            buffer.give(question, question.expected or 0)
        else:
            buffer.is_sure = False  # two processes may be writing this log
        _set_reply(question, buffer)

    def close_question(self, key: str, *, writes: bool) -> Question | None:
        """Return the question that a decision answers, as far as it is certain, or None."""
        question = self.open.pop(key, None)
        if question is None:
            question = self.guess_question(key)
            self._count_asked(key)
            self.lost = max(self.lost - 1, 0)
        self.busy.pop(key, None)
        if writes:
            self.busy[key] = None
            if len(self.busy) > MAX_KEYS:
                del self.busy[next(iter(self.busy))]
        else:
            self._let_ask(key)
        return question

    def end_write(self, key: str, *, is_applied: bool = False) -> None:
        """End the write of a decision.

        An applied write may get a reaction, for which the next question waits.
        """
        if not (is_applied and self.is_silent):
            self.busy.pop(key, None)
        if not is_applied:
            self._let_ask(key)

    def guess_question(self, key: str | None) -> Question | None:
        """Return the question of a decision whose own question is unknown, or None.

        That is the only message of the agent that waits for a decision.
        """
        buffer = self.buffers.get(key) if key else None
        if key is None or buffer is None or self.waiting.get(key) != 1 or not self.is_sure:
            return None
        question = Question()
        _set_reply(question, buffer)
        return question

    def find_only_question(self) -> Question | None:
        """Return the open question when there is exactly one."""
        return next(iter(self.open.values())) if len(self.open) == 1 and not self.lost else None

    def drop_question(self, question: Question | None) -> None:
        """Remove an answered question from its conversation."""
        for key in [key for key, open_question in self.open.items() if open_question is question]:
            del self.open[key]

    def _find_asker(self, question, near):
        """Return the conversation that asked a question, or None.

        Where two conversations that fit have the same messages, the choice does not matter to the window.
        """

        def fits(key):
            return key in self.buffers and self.buffers[key].fits(question, self.width)

        if near in self.waiting and self.now - self.near_at <= NEAR_MS and fits(near):
            return near
        if not self.is_sure or len(self.waiting) > MAX_ASKERS:
            return None
        idle = [key for key in self.waiting if key not in self.open and key not in self.busy]
        candidates = idle or [key for key in self.waiting if key not in self.open] or list(self.waiting)
        fitting = candidates if len(candidates) == 1 else [key for key in candidates if fits(key)]
        return fitting[0] if len(fitting) == 1 else None

    def _let_ask(self, key):
        """Let a conversation ask next, if a message of it waits and no question is open."""
        if self.waiting.get(key) and key not in self.open and key not in self.busy:
            self.near, self.near_at = key, self.now
            if self.is_silent and self.is_sure:
                self._count_asked(key)
                question = Question()
                self._open_question(key, question)
                self._infer_question(question, self._get_buffer(key))

    def _infer_question(self, question, buffer):
        """Fill in a question that has no line in the log."""
        if self.width is not None and (buffer.is_whole or len(buffer.roles) >= self.width):
            buffer.give(question, min(self.width, len(buffer.roles)))
        question.saw_user, question.saw_reply = buffer.has_user_message(), True
        _set_reply(question, buffer)

    def _count_asked(self, key):
        """Count one waiting message less."""
        remaining = self.waiting.pop(key, 0) - 1
        if remaining > 0:
            self.waiting[key] = remaining

    def _get_buffer(self, key):
        """Return the buffer of a conversation; the least recently used ones are dropped."""
        size = min(self.capacity or MAX_SAID, MAX_SAID)
        buffer = self.buffers.pop(key, None) or Buffer(deque(maxlen=size))
        self.buffers[key] = buffer
        self._make_room()
        return buffer

    def _make_room(self):
        while len(self.buffers) > 1 and (len(self.buffers) > MAX_KEYS or self.held > MAX_HELD):
            self._drop_buffer(next(iter(self.buffers)))
            self.knows_all = False

    def _drop_buffer(self, key):
        buffer = self.buffers.pop(key, None)
        self.held -= buffer.size if buffer else 0
        return buffer

    def _open_question(self, key, question):
        """Open a question; where too many are open, the oldest loses its conversation."""
        self.open[key] = question
        if len(self.open) > MAX_OPEN:
            del self.open[next(iter(self.open))]
            self.lost += 1


def _set_reply(question, buffer):
    question.reply = buffer.last_reply()
    question.original = buffer.original if question.reply else None
