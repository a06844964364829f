"""What may stand before the reply of a row, and be learned with it.

A trainer learns everything that the agent says in a row. What nobody approved must therefore not be there, or be marked
as not to be learned.
"""

from collections import deque

from .. import changes
from .exchanges import Exchange
from .spelling import Spelling
from .turns import Turn

# Approved turns with their edits; the same, all of a session in one row; every turn, marked as not to be learned.
EDITED, SESSION, CONTEXT = HISTORIES = ("edited", "session", "context")


class RecentExchanges:
    """The latest exchanges that together fit into a row."""

    def __init__(self, characters: int):
        self.characters = characters
        self.exchanges: deque[Exchange] = deque()
        self.size = 0
        self.is_shortened = False

    def append(self, exchange: Exchange) -> None:
        """Add what comes next; the oldest goes when there is no room."""
        self.exchanges.append(exchange)
        self.size += exchange.size
        while self.size > self.characters:
            self.size -= self.exchanges.popleft().size
            self.is_shortened = True

    def clear(self) -> None:
        """Begin anew."""
        self.exchanges.clear()
        self.size = 0
        self.is_shortened = False

    def before(self, exchange: Exchange) -> tuple[list[Exchange], bool]:
        """As many of the latest as fit before this one, and whether older ones were left out."""
        size, first, room = self.size, 0, self.characters - exchange.size
        while size > room and first < len(self.exchanges):
            size -= self.exchanges[first].size
            first += 1
        return list(self.exchanges)[first:], self.is_shortened or first > 0


class UnansweredWords:
    """Words of people that the agent did not answer: they join the next ones where every turn is kept."""

    def __init__(self, characters: int):
        self.characters = characters
        self.text = ""
        self.changes: set[str] = set()

    def keep(self, turn: Turn) -> bool:
        """Take a turn without an answer; False when it and what is kept are too long, and nothing is kept any more."""
        self.text, self.changes = self.joined(turn, turn.asked)
        is_fitting = len(self.text) <= self.characters
        if not is_fitting:
            self.clear()
        return is_fitting

    def clear(self) -> None:
        """They were answered."""
        self.text, self.changes = "", set()

    def joined(self, turn: Turn, user_text: str) -> tuple[str, set[str]]:
        """What is unanswered so far followed by this turn's words, and what had to be done to the turn."""
        done = self.changes | turn.changes
        if not user_text.strip():
            return self.text, done | {changes.TEXTLESS_DROPPED}
        if not self.text:
            return user_text, done
        return f"{self.text}\n\n{user_text}", done | {changes.MESSAGES_MERGED}


def build_exchange(
    asked: str, turn: Turn, done: set[str], spelling: Spelling, *, train: bool | None = None
) -> Exchange | None:
    """A turn as the transcript has it; None as long as it has no words, or no answer."""
    if not asked or not turn.answers:
        return None
    if len(turn.answers) > 1:
        done.add(changes.MESSAGES_MERGED)
    messages = [spelling.asked(asked), *turn.steps, spelling.answered("\n\n".join(turn.answers))]
    return Exchange(messages, done, spelling, train=train)
