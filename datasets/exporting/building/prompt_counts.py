"""How many rows of an export say what their model was given, and why the others do not."""

from collections import Counter
from typing import Any

from ...exporters.made import Made
from ...exporters.prompts import COLUMNS


class PromptCounts:
    """Counts the rows of one export."""

    def __init__(self):
        self.filled = Counter(dict.fromkeys(COLUMNS, 0))
        self.left_out: dict[str, Counter[str]] = {column: Counter() for column in COLUMNS}
        self.undescribed = 0

    def count(self, made: Made) -> None:
        """Take note of a row that was written."""
        for column, part in made.given.parts.items():
            if part.left_out:
                self.left_out[column][part.left_out] += 1
            else:
                self.filled[column] += 1
        self.undescribed += made.is_undescribed

    def as_json(self) -> dict[str, Any]:
        """As the manifest has it: rows with each column, rows without it by reason, rows that call other tools."""
        columns = {
            column: {"rows": self.filled[column], "left_out": dict(sorted(self.left_out[column].items()))}
            for column in COLUMNS
        }
        return {**columns, "rows_with_undescribed_calls": self.undescribed}
