"""JSON in text columns: decoded on access, and absent where the text is invalid.

The column itself remains the text that a spec names; queries, `values()` and migrations see only the text.
"""

from typing import Any

import orjson

BIGGEST = 2**53  # the largest integer that JavaScript, and so every source and reader, holds exactly


def decode(text: Any, kind: Any = dict) -> Any:
    """Parse JSON of one kind; otherwise return an empty value of that kind.

    Null, invalid JSON and JSON of another kind give the empty value.

    With the kind `object` any JSON value is returned, and None for invalid JSON.
    """
    try:
        value = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        value = None
    if kind is object:
        return value
    return value if isinstance(value, kind) else kind()


def encode(value: Any, *, is_sorted: bool = False) -> str:
    """A value as the text of a column; keys of objects may be sorted."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if is_sorted else None).decode()


class JsonProperty(property):
    """The JSON value of a column: `params = JsonProperty("params_json")` beside the column.

    A row decodes the text on first access, and remembers the value as long as the text is the same. A value that is set
    is encoded at once; changing a value that was read has no effect. It is a property, so that Django accepts it as an
    argument of a model: `JobRun(params={})`. Through the class it decodes texts of other rows:
    `JobRun.params.decode(text)`.
    """

    def __init__(self, column: str, kind: Any = dict, *, is_sorted: bool = False) -> None:
        super().__init__(self._read, self._write)
        self.column, self.kind, self.is_sorted, self.memory = column, kind, is_sorted, f"_decoded_{column}"

    def _read(self, row):
        text = getattr(row, self.column)
        known = row.__dict__.get(self.memory)
        if known is None or known[0] is not text:
            known = row.__dict__[self.memory] = (text, self.decode(text))
        return known[1]

    def _write(self, row, value):
        setattr(row, self.column, None if value is None else self.encode(value))

    def decode(self, text: Any) -> Any:
        """The value of a text of this column."""
        return decode(text, self.kind)

    def decode_strictly(self, text: str) -> Any:
        """The value of a text that has to be valid.

        Raises ValueError for a text that is no JSON, or JSON of another kind.
        """
        value = orjson.loads(text)
        if not isinstance(value, self.kind):
            raise ValueError(f"{self.column} is {type(value).__name__}, not {self.kind.__name__}")
        return value

    def encode(self, value: Any) -> str:
        """The text of a value for this column."""
        return encode(value, is_sorted=self.is_sorted)


def parse_count(value: Any) -> int | None:
    """Parse a count from a source; None for anything that is no count."""
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < BIGGEST
    return int(value) if is_count else None
