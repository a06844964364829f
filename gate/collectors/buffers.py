"""What the plugin had in memory when it asked the gate, rebuilt from its log.

The plugin keeps the last messages of each conversation. After a message of the agent it gives the gate the most recent
of them; while a conversation has a question open, or a write that follows from it, its next question waits. The line
of a question says how many messages were given, not whose: which conversation it was has to be told from the rest.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from .found import Said

MAX_SAID = 1000  # messages kept of one conversation
MAX_KEYS = 5000  # conversations kept
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
    window: tuple[Said, ...] | None = None
    reply: Said | None = None
    original: str | None = None


@dataclass(slots=True)
class Buffer:
    """The messages of a conversation, each with the key that OpenClaw has for it."""

    said: deque[tuple[Said, str | None]]
    is_whole: bool = False  # from the moment on when the plugin created it
    is_sure: bool = True  # nothing contradicted it

    def last_reply(self) -> tuple[Said, str | None] | None:
        """The last message of the agent."""
        return next((one for one in reversed(self.said) if one[0].role == "agent"), None)

    def heard_user(self) -> bool | None:
        """Whether a message of a person is in it; None when one may have been before what is known."""
        return any(said.role == "user" for said, _ in self.said) or (False if self.is_whole else None)

    def fits(self, asked: Question, width: int | None) -> bool:
        """Whether the gate can have been given this buffer, when it is given `width` messages at most."""
        known, expected = len(self.said), asked.expected
        if expected is None or (width is not None and expected > width):
            return False
        if expected != known and (self.is_whole or expected < known):
            cut = expected < known and width in (expected, None)
            if not cut:
                return False
        heard = self.heard_user()
        return heard is None or asked.saw_user in (heard, None)

    def window(self, count: int) -> tuple[Said, ...] | None:
        """The last messages; None when so many are not known, or what is known was wrong once."""
        if not self.is_sure or count > len(self.said):
            return None
        return tuple(said for said, _ in list(self.said)[len(self.said) - count :])


@dataclass(slots=True)
class Held:
    """All conversations of one start of the plugin.

    After lines that are missing, conversations that nothing is known of may have questions open: for a while only
    a question that follows at once has a known conversation.
    """

    knows_all: bool = False  # of every conversation, from the moment on when the plugin created its buffer
    uncreated: tuple[str, Said, str | None] | None = None  # heard in a new conversation: the next line says so
    before: "Held | None" = None  # what the process before held, until this one hears something
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
    busy: set[str] = field(default_factory=set)  # conversations with a decision to write that may not be done yet
    last: str | None = None  # the conversation of the last message

    @property
    def is_sure(self) -> bool:
        """Whether everything that is open is known."""
        return self.now - self.gap_at >= SETTLED_MS

    @property
    def is_mixed(self) -> bool:
        """Whether two processes may be writing, each with messages of its own in memory."""
        return self.now - self.mixed_at < SETTLED_MS

    def tick(self, now: int) -> None:
        """The time of a line."""
        self.now = now
        self.gap_at = min(self.gap_at, now)

    def restarted(self) -> "Held":
        """What a process that starts holds: nothing. Where something was open, the one before it may be at work yet."""
        is_over = self.is_sure and not (self.open or self.waiting or self.lost)
        is_first = self.now == 0
        return Held(
            knows_all=True,
            before=None if is_first else self.before or self,
            gap_at=-math.inf if is_over or is_first else self.now,
            workspace=self.workspace,
        )

    def beat(self, started: int) -> "Held":
        """A process tells when it started, and thereby which one it is. Returns what is held from now on."""
        held = self
        if self.process is not None and abs(started - self.process) > DRIFT_MS:
            held = self._not_alone()
        held.process = started
        return held

    def passed(self) -> "Held":
        """A line that tells of no new buffer. Returns what is held from now on."""
        if self.uncreated is None:
            return self
        key, said, original = self.uncreated
        held = self._not_alone()  # the buffer is older than this process
        held.heard(key, said, original)
        return held

    def active(self) -> "Held":
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
        self.gap()
        self.mixed_at = self.now
        return self

    def gap(self) -> None:
        """Lines are missing: anything may have been said, asked or decided in them."""
        self.gap_at, self.near, self.knows_all, self.uncreated, self.before = math.inf, None, False, None, None
        for known in (self.buffers, self.waiting, self.open, self.busy):
            known.clear()

    def heard(self, key: str, said: Said, original: str | None) -> None:
        """A message was put into a buffer. The line of it comes before the one of a new buffer."""
        if self.is_mixed:
            return
        if self.knows_all and key not in self.buffers:
            self.uncreated = (key, said, original)
        self._buffer(key).said.append((said, original))
        self.last = key
        if said.role == "agent":
            self.waiting[key] = self.waiting.get(key, 0) + 1
            if len(self.waiting) > MAX_KEYS:
                del self.waiting[next(iter(self.waiting))]
            self._go_on(key)

    def created(self, key: str) -> None:
        """A buffer is new, and has what was heard right before."""
        self.uncreated = self.before = None
        before = self.buffers.pop(key, None)
        if before is not None and len(before.said) > 1:
            self._not_alone()  # this process had one
            return
        buffer = self._buffer(key)
        if before is not None and before.said and self.last == key:
            buffer.said.append(before.said[-1])
            buffer.is_whole = True
        if self.is_silent and self.near == key and key in self.open:
            self._infer(self.open[key], buffer)

    def repeated(self, key: str) -> None:
        """What was heard last had been heard before: it was not put into the buffer."""
        buffer = self.buffers.get(key)
        if buffer is None or not buffer.said or self.last != key:
            return
        buffer.said.pop()
        self.last = None
        if self.is_silent and self.near == key:
            self.open.pop(key, None)
        else:
            self._took(key)
        self.near = None

    def cleared(self, key: str) -> None:
        """A conversation was reset."""
        self.buffers.pop(key, None)

    def spoiled(self, key: str) -> None:
        """A message cannot be read: what was heard before it counts no more."""
        buffer = self._buffer(key)
        buffer.said.clear()
        buffer.is_whole = False

    def ask(self, asked: Question, near: str | None) -> None:
        """A question, of a conversation to be found: the one that just got its turn, or the only one it can be."""
        key = self._asker(asked, near)
        if key is None:
            self.lost += 1
            return
        self._took(key)
        self.open[key] = asked
        buffer = self._buffer(key)
        if buffer.fits(asked, self.width):
            asked.window = buffer.window(asked.expected or 0)
        else:
            buffer.is_sure = False  # two processes may be writing this log
        _judge(asked, buffer)

    def decided(self, key: str, *, writes: bool) -> Question | None:
        """The question that a decision answers, with as much as is certain; None when nothing is."""
        asked = self.open.pop(key, None)
        if asked is None:
            asked = self.guessed(key)
            self._took(key)
            self.lost = max(self.lost - 1, 0)
        self.busy.discard(key)
        if writes:
            self.busy.add(key)
        else:
            self._go_on(key)
        return asked

    def settled(self, key: str, *, is_applied: bool = False) -> None:
        """A decision was written, or not. What was applied may get a reaction, for which the next question waits."""
        if not (is_applied and self.is_silent):
            self.busy.discard(key)
        if not is_applied:
            self._go_on(key)

    def guessed(self, key: str | None) -> Question | None:
        """What a decision is about when its question is not known: the only message that nothing was decided about."""
        buffer = self.buffers.get(key) if key else None
        if key is None or buffer is None or self.waiting.get(key) != 1 or not self.is_sure:
            return None
        asked = Question()
        _judge(asked, buffer)
        return asked

    def only(self) -> Question | None:
        """The open question when there is exactly one."""
        return next(iter(self.open.values())) if len(self.open) == 1 and not self.lost else None

    def drop(self, asked: Question | None) -> None:
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
                self.open[key] = asked = Question()
                self._infer(asked, self._buffer(key))

    def _infer(self, asked, buffer):
        """What a question without a line must have been."""
        if self.width is not None and (buffer.is_whole or len(buffer.said) >= self.width):
            asked.window = buffer.window(min(self.width, len(buffer.said)))
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
        if len(self.buffers) > MAX_KEYS:
            del self.buffers[next(iter(self.buffers))]
            self.knows_all = False
        return buffer


def _judge(asked, buffer):
    last = buffer.last_reply()
    asked.reply, asked.original = last or (None, None)
