"""The texts of one turn as signals see them, each with a bounded length."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

LONGEST = 20_000  # characters of one text


@dataclass(slots=True)
class CallTexts:
    """A call with its result, which is None while there is none. `record_id` is that of the record with the call."""

    id: str
    name: str
    arguments: dict[str, Any]
    record_id: str = ""
    result: str | None = None
    is_failed: bool = False


@dataclass(slots=True)
class TurnTexts:
    """A turn: the question of a person, the calls, and the answer that the person received.

    `at` is in milliseconds. `earlier` are the turns before, the latest last; `next_question` is None while nobody has
    answered. `is_partial` is set where a text is longer than signals read, or is an artifact. A turn that `is_closed`
    has no texts: nothing is computed on it, because a sender opted out, or OpenClaw began it, or it is too long.
    """

    id: str = ""
    number: int = 0
    at: int = 0
    question: str = ""
    reply: str = ""
    reply_id: str = ""
    stop: str = ""
    calls: list[CallTexts] = field(default_factory=list)
    senders: Collection[str] = ()
    find_people: Callable[[int], Collection[str]] = lambda _at: ()
    earlier: Sequence["TurnTexts"] = ()
    next_question: str | None = None
    is_partial: bool = False
    is_closed: bool = False
    # Computed when a later reply is compared with this turn: numbers of its sources, words of its reply.
    numbers: frozenset[float] | None = None
    words: frozenset[str] | None = None

    @property
    def previous(self) -> "TurnTexts | None":
        return self.earlier[-1] if self.earlier else None

    def list_sources(self) -> list[str]:
        """The question and the results of calls."""
        return [self.question, *(call.result for call in self.calls if call.result)]

    def set_reply(self, text: str) -> None:
        """Set the reply; of a long one, its beginning and its end."""
        half = LONGEST // 2
        self.reply = text if len(text) <= LONGEST else text[:half] + text[-half:]

    def cut(self, text: str) -> str:
        """The beginning of a text; notes that it is not the whole one."""
        self.is_partial |= len(text) > LONGEST
        return text[:LONGEST]
