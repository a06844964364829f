"""What the plugin had in memory when it asked the gate, rebuilt from its log.

The plugin keeps the last messages of each conversation. After a message of the agent it gives the gate the most recent
of them; while a conversation has a question open, or a write that follows from it, its next question waits. The line
of a question says how many messages were given, not whose: which conversation it was has to be told from the rest.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from .source_decisions import RecentMessages, SourceMessage

MAX_SAID = 1000  # messages counted of one conversation; the newest of them are kept (see found.Newest)
MAX_KEYS = 5000  # conversations kept,
MAX_HELD = 16 * 1024 * 1024  # and bytes of them
MAX_OPEN = 64  # questions whose answers may come: each has a window
NEAR_MS = 100  # between the line that gives a conversation its turn and the question: nothing else happens
DRIFT_MS = 5_000  # between two ways to tell when a process started
SETTLED_MS = 600_000  # after lines that are missing: what was open before them is answered


@dataclass(slots=True, eq=False)
class Question:
    """The gate is asked; `at` and `expected` are None where the log has no line of it."""

    at: int | None = None
    expected: int | None = None
    saw_user: bool | None = None
    saw_reply: bool | None = None
    window: tuple[SourceMessage, ...] | None = None
    left_out: int = 0  # messages that it was given besides, older than those of the window
    reply: SourceMessage | None = None
    original: str | None = None


@dataclass(slots=True)
class Buffer:
    """The messages of a conversation: whose each was, and of the newest the words, with OpenClaw's key of the last."""

    roles: deque[str]
    newest: RecentMessages = field(default_factory=RecentMessages)
    original: str | None = None
    is_whole: bool = False  # from the moment on when the plugin created it
    is_sure: bool = True  # nothing contradicted it

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self.newest.size + 200 * len(self.newest.messages) + 8 * len(self.roles)

    def add(self, said: SourceMessage, original: str | None) -> None:
        """A message after the others."""
        self.roles.append(said.role)
        self.newest.add(said)
        self.original = original or self.original

    def drop_last(self) -> SourceMessage | None:
        """Take the last message out."""
        self.roles.pop()
        return self.newest.drop_last()

    def last_reply(self) -> SourceMessage | None:
        """The last message of the agent, if it is among the newest."""
        known = islice(reversed(self.newest.messages), len(self.roles))
        return next((said for said in known if said.role == "agent"), None)

    def has_user_message(self) -> bool | None:
        """Whether a message of a person is in it; None when one may have been before what is known."""
        return "user" in self.roles or (False if self.is_whole else None)

    def fits(self, asked: Question, width: int | None) -> bool:
        """Whether the gate can have been given this buffer, when it is given `width` messages at most."""
        known, expected = len(self.roles), asked.expected
        if expected is None or (width is not None and expected > width):
            return False
        if expected != known and (self.is_whole or expected < known):
            cut = expected < known and width in (expected, None)
            if not cut:
                return False
        heard = self.has_user_message()
        return heard is None or asked.saw_user in (heard, None)

    def give(self, asked: Question, count: int) -> None:
        """Give a question the last messages; none when so many are not known, or what is known was wrong once."""
        if not self.is_sure or count > len(self.roles):
            return
        said = tuple(self.newest.messages)
        asked.window = said[max(len(said) - count, 0) :]
        asked.left_out = count - len(asked.window)


@dataclass(slots=True)
class PluginState:
    """All conversations of one start of the plugin.

    After lines that are missing, conversations that nothing is known of may have questions open: for a while only
    a question that follows at once has a known conversation.
    """

    knows_all: bool = False  # of every conversation, from the moment on when the plugin created its buffer
    uncreated: tuple[str, SourceMessage, str | None] | None = None  # heard in a new conversation: the next line says so
    before: "PluginState | None" = None  # what the process before held, until this one hears something
    process: int | None = None  # when the process started that wrote last how long it has been there
    model: str | None = None
    workspace: str | None = None
    now: float = 0
    mixed_at: float = -math.inf  # the last line by which two processes write this log
    gap_at: float = math.inf  # the last line that is missing, once a time is known: a log may begin in the middle
    capacity: int | None = None
    width: int | None = None  # messages that the gate is given at most
    is_silent: bool = False  # the log has no lines of questions: they follow from everything else
    near: str | None = None  # the conversation that asks next, if the next line is a question
    near_at: float = 0
    buffers: dict[str, Buffer] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)  # messages of the agent that the gate was not asked about yet
    open: dict[str, Question] = field(default_factory=dict)
    lost: int = 0  # open questions of nobody knows which conversation
    busy: dict[str, None] = field(default_factory=dict)  # conversations with a write that may not be done yet
    last: str | None = None  # the conversation of the last message
    held: int = 0  # bytes of all buffers

    @property
    def is_sure(self) -> bool:
        """Whether everything that is open is known."""
        return self.now - self.gap_at >= SETTLED_MS

    @property
    def is_mixed(self) -> bool:
        """Whether two processes may be writing, each with messages of its own in memory."""
        return self.now - self.mixed_at < SETTLED_MS

    def set_time(self, now: int) -> None:
        """The time of a line."""
        self.now = now
        self.gap_at = min(self.gap_at, now)

    def restart(self) -> "PluginState":
        """What a process that starts holds: nothing. Where something was open, the one before it may be at work yet."""
        is_over = self.is_sure and not (self.open or self.waiting or self.lost)
        is_first = self.now == 0
        return PluginState(
            knows_all=True,
            before=None if is_first else self.before or self,
            gap_at=-math.inf if is_over or is_first else self.now,
            workspace=self.workspace,
        )

    def note_heartbeat(self, started: int) -> "PluginState":
        """A process tells when it started, and thereby which one it is. Returns what is held from now on."""
        held = self
        if self.process is not None and abs(started - self.process) > DRIFT_MS:
            held = self._not_alone()
        held.process = started
        return held

    def note_other_line(self) -> "PluginState":
        """A line that tells of no new buffer. Returns what is held from now on."""
        if self.uncreated is None:
            return self
        key, said, original = self.uncreated
        held = self._not_alone()  # the buffer is older than this process
        held.add_message(key, said, original)
        return held

    def note_gate_line(self) -> "PluginState":
        """A line about a question or a decision. Returns what is held from now on."""
        return self if self.before is None else self._not_alone()  # this process has heard nothing yet

    def _not_alone(self):
        """Another process writes this log as well, each with messages of its own in memory.

        One that only started was a command, and the one before it goes on. Of two that both hear messages nothing is
        certain.
        """
        if self.before is not None:
            self.before.tick(int(self.now))
            return self.before
        self.note_gap()
        self.mixed_at = self.now
        return self

    def note_gap(self) -> None:
        """Lines are missing: anything may have been said, asked or decided in them."""
        self.gap_at, self.near, self.knows_all, self.uncreated, self.before = math.inf, None, False, None, None
        self.held = 0
        for known in (self.buffers, self.waiting, self.open, self.busy):
            known.clear()

    def add_message(self, key: str, said: SourceMessage, original: str | None) -> None:
        """A message was put into a buffer. The line of it comes before the one of a new buffer."""
        if self.is_mixed:
            return
        if self.knows_all and key not in self.buffers:
            self.uncreated = (key, said, original)
        buffer = self._buffer(key)
        self.held -= buffer.size
        buffer.add(said, original)
        self.held += buffer.size
        self._make_room()
        self.last = key
        if said.role == "agent":
            self.waiting[key] = self.waiting.get(key, 0) + 1
            if len(self.waiting) > MAX_KEYS:
                del self.waiting[next(iter(self.waiting))]
            self._go_on(key)

    def create_buffer(self, key: str) -> None:
        """A buffer is new, and has what was heard right before."""
        self.uncreated = self.before = None
        before = self._drop(key)
        if before is not None and len(before.roles) > 1:
            self._not_alone()  # this process had one
            return
        buffer = self._buffer(key)
        if before is not None and before.newest.messages and self.last == key:
            buffer.add(before.newest.messages[-1], before.original)
            self.held += buffer.size
            buffer.is_whole = True
        if self.is_silent and self.near == key and key in self.open:
            self._infer(self.open[key], buffer)

    def drop_repeated(self, key: str) -> None:
        """What was heard last had been heard before: it was not put into the buffer."""
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
            self._took(key)
        self.near = None

    def clear_buffer(self, key: str) -> None:
        """A conversation was reset."""
        self._drop(key)

    def reset_buffer(self, key: str) -> None:
        """A message cannot be read: what was heard before it counts no more."""
        self._drop(key)
        self._buffer(key)

    def open_question(self, asked: Question, near: str | None) -> None:
        """A question, of a conversation to be found: the one that just got its turn, or the only one it can be."""
        key = self._asker(asked, near)
        if key is None:
            self.lost += 1
            return
        self._took(key)
        self._opened(key, asked)
        buffer = self._buffer(key)
        if buffer.fits(asked, self.width):
            buffer.give(asked, asked.expected or 0)
        else:
            buffer.is_sure = False  # two processes may be writing this log
        _judge(asked, buffer)

    def close_question(self, key: str, *, writes: bool) -> Question | None:
        """The question that a decision answers, with as much as is certain; None when nothing is."""
        asked = self.open.pop(key, None)
        if asked is None:
            asked = self.guess_question(key)
            self._took(key)
            self.lost = max(self.lost - 1, 0)
        self.busy.pop(key, None)
        if writes:
            self.busy[key] = None
            if len(self.busy) > MAX_KEYS:
                del self.busy[next(iter(self.busy))]
        else:
            self._go_on(key)
        return asked

    def end_write(self, key: str, *, is_applied: bool = False) -> None:
        """A decision was written, or not. What was applied may get a reaction, for which the next question waits."""
        if not (is_applied and self.is_silent):
            self.busy.pop(key, None)
        if not is_applied:
            self._go_on(key)

    def guess_question(self, key: str | None) -> Question | None:
        """What a decision is about when its question is not known: the only message that nothing was decided about."""
        buffer = self.buffers.get(key) if key else None
        if key is None or buffer is None or self.waiting.get(key) != 1 or not self.is_sure:
            return None
        asked = Question()
        _judge(asked, buffer)
        return asked

    def find_only_question(self) -> Question | None:
        """The open question when there is exactly one."""
        return next(iter(self.open.values())) if len(self.open) == 1 and not self.lost else None

    def drop_question(self, asked: Question | None) -> None:
        """A question was answered, in whichever conversation."""
        for key in [key for key, one in self.open.items() if one is asked]:
            del self.open[key]

    def _asker(self, asked, near):
        """Whose question it is. Which of two that fit alike does not matter to what they were given."""

        def fits(key):
            return key in self.buffers and self.buffers[key].fits(asked, self.width)

        if near in self.waiting and self.now - self.near_at <= NEAR_MS and fits(near):
            return near
        if not self.is_sure:
            return None
        idle = [key for key in self.waiting if key not in self.open and key not in self.busy]
        some = idle or [key for key in self.waiting if key not in self.open] or list(self.waiting)
        fitting = some if len(some) == 1 else [key for key in some if fits(key)]
        return fitting[0] if len(fitting) == 1 else None

    def _go_on(self, key):
        """A conversation asks next, if it has anything to ask and nothing open."""
        if self.waiting.get(key) and key not in self.open and key not in self.busy:
            self.near, self.near_at = key, self.now
            if self.is_silent and self.is_sure:
                self._took(key)
                asked = Question()
                self._opened(key, asked)
                self._infer(asked, self._buffer(key))

    def _infer(self, asked, buffer):
        """What a question without a line must have been."""
        if self.width is not None and (buffer.is_whole or len(buffer.roles) >= self.width):
            buffer.give(asked, min(self.width, len(buffer.roles)))
        asked.saw_user, asked.saw_reply = buffer.heard_user(), True
        _judge(asked, buffer)

    def _took(self, key):
        """One message less waits."""
        left = self.waiting.pop(key, 0) - 1
        if left > 0:
            self.waiting[key] = left

    def _buffer(self, key):
        """The buffer of a conversation; those that were not used for longest are dropped."""
        size = min(self.capacity or MAX_SAID, MAX_SAID)
        buffer = self.buffers.pop(key, None) or Buffer(deque(maxlen=size))
        self.buffers[key] = buffer
        self._make_room()
        return buffer

    def _make_room(self):
        while len(self.buffers) > 1 and (len(self.buffers) > MAX_KEYS or self.held > MAX_HELD):
            self._drop(next(iter(self.buffers)))
            self.knows_all = False

    def _drop(self, key):
        buffer = self.buffers.pop(key, None)
        self.held -= buffer.size if buffer else 0
        return buffer

    def _opened(self, key, asked):
        """A question is asked; where too many are open, the answer to the oldest is nobody's."""
        self.open[key] = asked
        if len(self.open) > MAX_OPEN:
            del self.open[next(iter(self.open))]
            self.lost += 1


def _judge(asked, buffer):
    asked.reply = buffer.last_reply()
    asked.original = buffer.original if asked.reply else None
