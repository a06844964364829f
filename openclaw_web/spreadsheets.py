"""CSV that spreadsheets read as it is meant: UTF-8 with its mark, and no cell that is run as a formula."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

MARK = "\ufeff".encode()  # without it, spreadsheets take UTF-8 for something else
csv.field_size_limit(64 * 1024 * 1024)  # characters of a cell: ours hold whole conversations
LONG, LONGEST = "long_cells", 32_767  # characters of UTF-16 that Excel keeps of a cell
# What a spreadsheet would take for a formula when a cell begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def format_cell(value: Any) -> Any:
    """What is written for a value: a text that would be run as a formula gets a `'` before it, lists are JSON."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def is_long_cell(value: Any) -> bool:
    """Whether a cell is longer than spreadsheets show: Excel cuts it when it opens the file."""
    written = format_cell(value)
    if not isinstance(written, str) or len(written) <= LONGEST // 2:
        return False
    return len(written.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST


def long_cells(columns: Sequence[str], values: Iterable[Any]) -> str:
    """The columns of a row whose cells are too long for Excel, with blanks between them; empty: none."""
    return " ".join(name for name, value in zip(columns, values, strict=True) if is_long_cell(value))


def with_long_cells(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    """Rows with the names of their long cells in one column more, which LONG is the name of."""
    return ([*values, long_cells(columns, values)] for values in rows)


def format_lines(rows: Iterable[Iterable[Any]]) -> bytes:
    """Rows of values as lines; those within a text stay, between quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([format_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def read_rows(found: Iterable[bytes]) -> Iterator[list[str]]:
    """The rows of such lines, with or without the mark before the first. Raises ValueError for what is no CSV."""
    try:
        yield from csv.reader(line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(found))
    except csv.Error as exc:
        raise ValueError(str(exc)) from exc
