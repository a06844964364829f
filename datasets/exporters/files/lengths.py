"""Measures rows, in characters and in tokens estimated without a tokenizer."""

from collections import Counter
from typing import Any

from ..conversations.exchanges import Conversation
from ..formats.metadata import GIVEN_COLUMNS, JUDGEMENT_COLUMNS, PLACE_COLUMNS
from ..json_output import dump_json
from ..token_estimate import EIGHTHS, estimate_weight

ABOUT = frozenset((*PLACE_COLUMNS, *JUDGEMENT_COLUMNS, *GIVEN_COLUMNS, "control_tokens", "label"))
NO_LIST = "[]"
ABOVE = (2_048, 4_096, 8_192)  # tokens: usual lengths that training tools cut rows to


class Lengths:
    """Counts how many rows of an export have which length.

    Lengths are counted in ranges between powers of two, by their number of bits.
    """

    def __init__(self) -> None:
        self.characters: Counter[int] = Counter()
        self.tokens: Counter[int] = Counter()
        self.above = dict.fromkeys(ABOVE, 0)
        self.longest = 0
        self.all_tokens = 0

    def add_row(self, characters: int, weight: int) -> None:
        """Count a row of this many characters and eighths of tokens."""
        tokens = weight // EIGHTHS
        self.characters[characters.bit_length()] += 1
        self.tokens[tokens.bit_length()] += 1
        self.all_tokens += tokens
        self.longest = max(self.longest, tokens)
        for limit in ABOVE:
            if tokens > limit:
                self.above[limit] += 1

    def as_json(self) -> dict[str, Any]:
        """The counts as the manifest has them.

        Every range is its first length, the first length beyond it, and its rows.
        """
        return {
            "characters": _list_ranges(self.characters),
            "tokens": _list_ranges(self.tokens),
            "tokens_above": {str(limit): rows for limit, rows in self.above.items()},
            "tokens_longest": self.longest,
            "tokens_all": self.all_tokens,
        }


def _list_ranges(counts):
    if not counts:
        return []
    return [[1 << n - 1 if n else 0, 1 << n, counts[n]] for n in range(min(counts), max(counts) + 1)]


def measure_row(row: dict[str, Any]) -> tuple[int, int]:
    """Measure a row in characters and in eighths of tokens.

    The texts that the row teaches and those before them count, but not the columns that say where it comes from.
    """
    characters = weight = 0
    for name, value in row.items():
        if isinstance(value, Conversation):
            more = value.lengths
            characters += more[0]
            weight += more[1]
        elif name not in ABOUT and value != NO_LIST:
            text = value if isinstance(value, str) else dump_json(value)
            characters += len(text)
            weight += estimate_weight(text)
    return characters, weight
