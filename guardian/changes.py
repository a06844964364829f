"""The change of a file by a write: its diff, its line counts, and its hunks.

Blame is computed from the stored hunks later. Pure: no database.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from openclaw_web.diffs import line_diff, unified_format

from . import services

Hunk = tuple[int, int, int, int]
REMEMBERED = 16 * 1024 * 1024  # bytes of diffs
Pair = tuple[str | None, str | None]  # the content before and after, as the first 32 digits of its hash


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file, with its hunks in order.

    `hunks` are (first and last line before, first and last line after), counted from 0 without the ends. `added` and
    `removed` count lines; `modified` is the smaller of both in each hunk. `is_coarse`: see
    openclaw_web.diffs.comparing.
    """

    diff: str
    added: int
    removed: int
    modified: int
    hunks: tuple[Hunk, ...]
    is_coarse: bool


def find_hunks(diff: line_diff.Diff) -> tuple[Hunk, ...]:
    return tuple(
        (block.old_start, block.old_end, block.new_start, block.new_end) for block in diff.blocks if not block.is_same
    )


def compute_change(before: bytes | None, after: bytes | None, name: str) -> Change:
    """Compute the change of a file between two contents; None: there is no file."""
    old, new = (None if data is None else services.bytes_to_text(data) for data in (before, after))
    diff = line_diff.compare(old, new)
    hunks = find_hunks(diff)
    view = line_diff.build_view(diff, room=0, has_marks=False)
    text = unified_format.format_patch(view, name, is_new=before is None)
    if view.left_out:  # `patch` marks lines that are no lines of a file so
        text += f"\\ {view.left_out} more changed lines are not in this diff\n"
    return Change(
        diff=text.encode("utf-8", "replace").decode(),
        added=diff.added,
        removed=diff.removed,
        modified=sum(min(hunk[1] - hunk[0], hunk[3] - hunk[2]) for hunk in hunks),
        hunks=hunks,
        is_coarse=diff.is_coarse,
    )


@dataclass(slots=True)
class ChangeCache:
    """A cache of changes by the content before and after.

    Writes with equal contents on both sides have their change computed once.

    It holds the changes that were used last, as many as fit into REMEMBERED bytes.
    """

    _changes: OrderedDict[tuple[str, Pair], Change | None] = field(default_factory=OrderedDict)
    _size: int = 0

    def get(self, name: str, pair: Pair, make: Callable[[], Change | None]) -> Change | None:
        """Return the change of a file, computed by `make` where the cache lacks it."""
        key = (name, pair)
        if key in self._changes:
            self._changes.move_to_end(key)
            return self._changes[key]
        change = self._changes[key] = make()
        self._size += _size(change)
        while self._size > REMEMBERED and len(self._changes) > 1:
            self._size -= _size(self._changes.popitem(last=False)[1])
        return change


def _size(change):
    return len(change.diff) + 200 * len(change.hunks) if change else 0
