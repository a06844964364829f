"""Writes the rows of a verb to a file or to standard output.

The formats are JSON, JSON lines, CSV, and texts that the verb formats itself.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from django.utils.translation import gettext as _

from .. import reasons, spreadsheets
from ..amounts import ngettext_lazy
from .groups import Outcome, WrongUse

Row = dict[str, Any]


def write_rows(
    file: str | None, kind: str, columns: Sequence[str], texts: Iterable[str], sentence: ngettext_lazy
) -> Outcome:
    """Write texts, one for each row, to a file or to standard output.

    `sentence` says how many rows were written: their `number`, as `count` in the text, and `file`.

    Raises WrongUse when the file cannot be written.
    """
    if not file:
        return Outcome({"file": None, "format": kind, "count": _write(sys.stdout, kind, columns, texts)}, "")
    try:
        with open(file, "w", encoding="utf-8", newline="") as stream:  # noqa: PTH123 - a name of the shell's, as it is
            count = _write(stream, kind, columns, texts)
    except OSError as exc:
        words = {"file": file, "reason": reasons.describe_os_error(exc)}
        raise WrongUse(_("%(file)s cannot be written: %(reason)s.") % words) from exc
    words = {"file": file, "count": f"{count:,}", "number": count}
    return Outcome({"file": file, "format": kind, "count": count}, sentence % words)


def format_rows(kind: str, columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Format rows as JSON, JSON lines or CSV.

    The brackets of JSON and the first line of CSV are not among the texts.
    """
    for number, row in enumerate(rows):
        if kind == "csv":
            values = (row[name] for name in columns)
            cells = [_json(value) if isinstance(value, dict) else value for value in values]
            yield spreadsheets.format_lines(spreadsheets.with_long_cells(columns, [cells])).decode()
        else:
            yield f"{_json(row)}\n" if kind == "jsonl" else f"{',' if number else '['}\n{_json(row)}"


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def _write(file: TextIO, kind, columns, texts):
    """Write the texts, and return how many there were."""
    count = 0
    if kind == "csv":
        file.write((spreadsheets.MARK + spreadsheets.format_lines([[*columns, spreadsheets.LONG]])).decode())
    for text in texts:
        file.write(text)
        count += 1
    file.write(("\n]\n" if count else "[]\n") if kind == "json" else "")
    return count
