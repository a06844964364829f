"""CSV for spreadsheets: UTF-8 with a byte order mark, and no formulas in cells."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

MARK = "\ufeff".encode()  # without it, spreadsheets assume another encoding
csv.field_size_limit(64 * 1024 * 1024)  # characters of a cell: ours hold whole conversations
LONG, LONGEST = "long_cells", 32_767  # UTF-16 code units that Excel keeps of a cell
# Beginnings of a cell that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def format_cell(value: Any) -> Any:
    """Format a value for a cell.

    A text that would run as a formula gets a `'` before it; lists and objects become JSON.
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def is_long_cell(value: Any) -> bool:
    """Whether a cell is longer than spreadsheets show; Excel cuts it on opening."""
    text = format_cell(value)
    if not isinstance(text, str) or len(text) <= LONGEST // 2:
        return False
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST


def long_cells(columns: Sequence[str], values: Iterable[Any]) -> str:
    """The columns of a row whose cells are too long for Excel, separated by blanks."""
    return " ".join(name for name, value in zip(columns, values, strict=True) if is_long_cell(value))


def with_long_cells(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    """Add a column, named LONG, with the names of each row's long cells."""
    return ([*values, long_cells(columns, values)] for values in rows)


def format_lines(rows: Iterable[Iterable[Any]]) -> bytes:
    """Format rows as CSV lines; line breaks within a text stay, between quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([format_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def read_rows(csv_lines: Iterable[bytes]) -> Iterator[list[str]]:
    """Parse such lines, with or without the mark, into rows.

    Raises ValueError for a text that is no CSV.
    """
    try:
        yield from csv.reader(
            line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(csv_lines)
        )
    except csv.Error as exc:
        raise ValueError(str(exc)) from exc
