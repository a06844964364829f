"""JSON in columns of texts: decoded when it is asked for, and absent where a text is no JSON.

The column stays the text that a spec names: queries, `values()` and migrations see nothing else.
"""

from typing import Any

import orjson

BIGGEST = 2**53  # what JavaScript, and so every source and every reader, can count exactly


def decode(text: Any, kind: Any = dict) -> Any:
    """The JSON value of a text, if it is of a kind; an empty one for null, for what is no JSON, and for another kind.

    With the kind `object`, whatever JSON says, and None for what is none.
    """
    try:
        value = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        value = None
    if kind is object:
        return value
    return value if isinstance(value, kind) else kind()


def encode(value: Any, *, is_sorted: bool = False) -> str:
    """A value as the text of a column, the keys of objects in their order or sorted."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if is_sorted else None).decode()


class JsonProperty(property):
    """What the JSON of a column says: `params = Decoded("params_json")` beside the column.

    A row decodes it when it is first asked for and remembers it as long as the text is the same. What is set is
    encoded at once; changing a value that was read changes nothing. It is a property, so that Django takes it where a
    row is made: `JobRun(params={})`. Of the table itself it decodes texts of other rows: `JobRun.params.decode(text)`.
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
        """What a text of this column says."""
        return decode(text, self.kind)

    def decode_strictly(self, text: str) -> Any:
        """The same where something rests on it. Raises ValueError for a text that is no JSON, or of another kind."""
        value = orjson.loads(text)
        if not isinstance(value, self.kind):
            raise ValueError(f"{self.column} is {type(value).__name__}, not {self.kind.__name__}")
        return value

    def encode(self, value: Any) -> str:
        """A value as a text of this column."""
        return encode(value, is_sorted=self.is_sorted)


def parse_count(value: Any) -> int | None:
    """A number of things as a source may give it; None for anything that is not one."""
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < BIGGEST
    return int(value) if is_count else None
