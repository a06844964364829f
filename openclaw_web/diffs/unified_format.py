"""A diff in one column: the unified format of `diff -u`, and its hunks line by line. Pure."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from . import line_diff
from .line_diff import Row, Section, View

NOT_A_NAME = re.compile(r"[\x00-\x1f\x7f]")


def format_patch(view: View, name: str, *, is_new: bool = False) -> str:
    """The diff as `patch` takes it; empty when nothing changed."""
    name = NOT_A_NAME.sub("?", name)
    found = [part for hunk in _hunks(view) for part in _written(hunk)]
    head = [f"--- {'/dev/null' if is_new else f'a/{name}'}\n", f"+++ b/{name}\n"]
    return "".join([*head, *found]) if found else ""


def format_text_patch(old: str | None, new: str | None, name: str) -> str:
    """What became of a text, as `patch` takes it; None: there is none."""
    view = line_diff.build_view(line_diff.compare(old, new), room=0, has_marks=False)
    return format_patch(view, name, is_new=old is None)


def to_one_column(view: View) -> View:
    """The same view with both sides below each other: of a changed run the old lines first."""
    sections = [Section(list(_below(section.rows)), section.count, section.is_fold) for section in view.sections]
    return View(sections, view.left, view.is_coarse)


def _below(rows):
    for kind, old, new in _in_order(rows):
        yield Row(old, new, is_changed=kind != "same")


def build_hunks(view: View) -> list[dict[str, Any]]:
    """The changed places with unchanged lines around them: `lines` with kind, numbers, text, changed characters."""
    return [{"lines": [_said(*line) for line in _in_order(hunk)]} for hunk in _hunks(view)]


def _hunks(view) -> Iterator[list[Row]]:
    for section in view.sections:
        if not section.is_fold and any(row.is_changed for row in section.rows):
            yield section.rows


def _in_order(rows):
    """Lines as (kind, old, new): of a changed run the old ones first."""
    for is_changed, run in groupby(rows, key=lambda row: row.is_changed):
        if not is_changed:
            yield from (("same", row.old, row.new) for row in run)
            continue
        run = list(run)
        yield from (("removed", row.old, None) for row in run if row.old)
        yield from (("added", None, row.new) for row in run if row.new)


def _written(rows):
    yield f"@@ -{_span([row.old for row in rows if row.old])} +{_span([row.new for row in rows if row.new])} @@\n"
    for kind, old, new in _in_order(rows):
        line = (old or new).text
        yield {"same": " ", "removed": "-", "added": "+"}[kind] + line
        if not line.endswith("\n"):
            yield "\n\\ No newline at end of file\n"


def _span(lines):
    return f"{lines[0].number},{len(lines)}" if lines else "0,0"


def _said(kind, old, new):
    line, changed, at = old or new, [], 0
    for text, is_changed in line.parts:
        if is_changed:
            changed.append((at, at + len(text)))
        at += len(text)
    numbers = {"old": old.number if old else None, "new": new.number if new else None}
    return {"kind": kind, **numbers, "text": line.text, "changed": changed}
