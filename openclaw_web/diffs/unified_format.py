"""Formats a diff in one column, as the unified format of `diff -u` or as hunks.

Pure functions.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from . import line_diff
from .line_diff import Row, Section, View

NOT_A_NAME = re.compile(r"[\x00-\x1f\x7f]")


def format_patch(view: View, name: str, *, is_new: bool = False) -> str:
    """The diff in the format that `patch` reads; empty when nothing changed."""
    name = NOT_A_NAME.sub("?", name)
    lines = [part for hunk in _hunks(view) for part in _format_hunk(hunk)]
    head = [f"--- {'/dev/null' if is_new else f'a/{name}'}\n", f"+++ b/{name}\n"]
    return "".join([*head, *lines]) if lines else ""


def format_text_patch(old: str | None, new: str | None, name: str) -> str:
    """The change of a text in the format that `patch` reads; None is no text."""
    view = line_diff.build_view(line_diff.compare(old, new), room=0, has_marks=False)
    return format_patch(view, name, is_new=old is None)


def to_one_column(view: View) -> View:
    """The same view with both sides below each other.

    Of a changed run the old lines come first.
    """
    sections = [Section(list(_split_rows(section.rows)), section.count, section.is_fold) for section in view.sections]
    return View(sections, view.left_out, view.is_coarse)


def _split_rows(rows):
    for kind, old, new in _order_lines(rows):
        yield Row(old, new, is_changed=kind != "same")


def build_hunks(view: View) -> list[dict[str, Any]]:
    """The changed places with unchanged lines around them, as dictionaries for JSON.

    Each has `lines` with kind, numbers, text and the ranges of changed characters.
    """
    return [{"lines": [_line_to_json(*line) for line in _order_lines(hunk)]} for hunk in _hunks(view)]


def _hunks(view) -> Iterator[list[Row]]:
    for section in view.sections:
        if not section.is_fold and any(row.is_changed for row in section.rows):
            yield section.rows


def _order_lines(rows):
    """Yield lines as (kind, old, new), the old lines of a changed run first."""
    for is_changed, run in groupby(rows, key=lambda row: row.is_changed):
        if not is_changed:
            yield from (("same", row.old, row.new) for row in run)
            continue
        run = list(run)
        yield from (("removed", row.old, None) for row in run if row.old)
        yield from (("added", None, row.new) for row in run if row.new)


def _format_hunk(rows):
    yield f"@@ -{_span([row.old for row in rows if row.old])} +{_span([row.new for row in rows if row.new])} @@\n"
    for kind, old, new in _order_lines(rows):
        line = (old or new).text
        yield {"same": " ", "removed": "-", "added": "+"}[kind] + line
        if not line.endswith("\n"):
            yield "\n\\ No newline at end of file\n"


def _span(lines):
    return f"{lines[0].number},{len(lines)}" if lines else "0,0"


def _line_to_json(kind, old, new):
    line, changed, at = old or new, [], 0
    for text, is_changed in line.parts:
        if is_changed:
            changed.append((at, at + len(text)))
        at += len(text)
    numbers = {"old": old.number if old else None, "new": new.number if new else None}
    return {"kind": kind, **numbers, "text": line.text, "changed": changed}
