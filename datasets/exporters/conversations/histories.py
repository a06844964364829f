"""The histories that may stand before the reply of a row.

A trainer learns everything that the agent says in a row. Turns that nobody approved must therefore be left out, or be
marked as not to be learned.
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
        """Add the next exchange; the oldest ones are dropped when there is no room."""
        self.exchanges.append(exchange)
        self.size += exchange.size
        while self.size > self.characters:
            self.size -= self.exchanges.popleft().size
            self.is_shortened = True

    def clear(self) -> None:
        """Remove all exchanges."""
        self.exchanges.clear()
        self.size = 0
        self.is_shortened = False

    def before(self, exchange: Exchange) -> tuple[list[Exchange], bool]:
        """The latest exchanges that fit before this one, and whether older ones were left out."""
        size, first, room = self.size, 0, self.characters - exchange.size
        while size > room and first < len(self.exchanges):
            size -= self.exchanges[first].size
            first += 1
        return list(self.exchanges)[first:], self.is_shortened or first > 0


class UnansweredWords:
    """Words of people that the agent did not answer.

    They join the next words in histories that hold every turn.
    """

    def __init__(self, characters: int):
        self.characters = characters
        self.text = ""
        self.changes: set[str] = set()

    def keep(self, turn: Turn) -> bool:
        """Add a turn without an answer; False when the words are too long.

        All unanswered words are dropped then.
        """
        self.text, self.changes = self.joined(turn, turn.question)
        is_fitting = len(self.text) <= self.characters
        if not is_fitting:
            self.clear()
        return is_fitting

    def clear(self) -> None:
        """Forget the words, once they are answered."""
        self.text, self.changes = "", set()

    def joined(self, turn: Turn, user_text: str) -> tuple[str, set[str]]:
        """The unanswered words followed by this turn's, and the changes that this makes."""
        done = self.changes | turn.changes
        if not user_text.strip():
            return self.text, done | {changes.TEXTLESS_DROPPED}
        if not self.text:
            return user_text, done
        return f"{self.text}\n\n{user_text}", done | {changes.MESSAGES_MERGED}


def build_exchange(
    question: str, turn: Turn, done: set[str], spelling: Spelling, *, train: bool | None = None
) -> Exchange | None:
    """A turn as the transcript has it; None without words or without an answer."""
    if not question or not turn.answers:
        return None
    if len(turn.answers) > 1:
        done.add(changes.MESSAGES_MERGED)
    messages = [spelling.build_question(question), *turn.steps, spelling.build_answer("\n\n".join(turn.answers))]
    return Exchange(messages, done, spelling, train=train)
