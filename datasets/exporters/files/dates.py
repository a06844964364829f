"""Columns that a loader would take for dates.

HF `datasets` reads a file in pieces of 10 MiB and guesses the type of each column from its values: a column of texts
that all look like `2026-01-31` becomes timestamps, and a trainer then finds no text in it.
"""

import re
from collections.abc import Iterable

from ..conversations.exchanges import Conversation

PIECE = 10 * 1024 * 1024
# What pyarrow's JSON reader takes for a moment; wider than it where in doubt.
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII)
LONGEST = 35


class DateColumns:
    """Watches the rows of one file go by; says which columns hold nothing but dates in a piece of it."""

    def __init__(self, columns: tuple[str, ...]):
        self.columns = columns
        self.found: set[str] = set()
        self._suspects = set(columns)
        self._bytes = 0

    def see(self, row: dict[str, object], length: int) -> None:
        """Take note of a row whose line has `length` bytes."""
        if self._bytes > PIECE:
            self.end()
        self._bytes += length
        if self._suspects:
            self._suspects = {name for name in self._suspects if all(map(_is_date, _texts(row[name])))}

    def end(self) -> None:
        """The file, or a piece of it, is complete."""
        if self._bytes:
            self.found |= self._suspects
        self._suspects, self._bytes = set(self.columns), 0


def _texts(value: object) -> Iterable[str]:
    return value.texts if isinstance(value, Conversation) else [str(value)]


def _is_date(text):
    return len(text) <= LONGEST and DATE.fullmatch(text) is not None
