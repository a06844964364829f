"""What a write changed in a file: its diff, its numbers, and its hunks, from which blame follows later. Pure."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from openclaw_web.diffs import line_diff, unified_format

from . import file_bytes

Hunk = tuple[int, int, int, int]
REMEMBERED = 16 * 1024 * 1024  # bytes of diffs
Pair = tuple[str | None, str | None]  # what a file held before and after, as the first 32 digits of its hash


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `hunks`: (first and last line before, first and last line after), counted from 0, ends left out.

    `added` and `removed` count lines; `modified` is the smaller of both in each hunk. `is_coarse`: see
    openclaw_web.diffs.line_diff.
    """

    diff: str
    added: int
    removed: int
    modified: int
    hunks: tuple[Hunk, ...]
    is_coarse: bool


def compute_change(before: bytes | None, after: bytes | None, name: str) -> Change:
    """What became of a file; None: there is none."""
    old, new = (None if data is None else file_bytes.bytes_to_text(data) for data in (before, after))
    diff = line_diff.compare(old, new)
    hunks = tuple(
        (block.old_start, block.old_end, block.new_start, block.new_end) for block in diff.blocks if not block.is_same
    )
    view = line_diff.build_view(diff, room=0, has_marks=False)
    text = unified_format.format_patch(view, name, is_new=before is None)
    if view.left:  # as `patch` marks what is no line of a file
        text += f"\\ {view.left} more changed lines are not in this diff\n"
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
    """Diffs by what a file held before and after, so that writes which go the same way have theirs made once.

    The last ones are remembered, as many as fit into REMEMBERED bytes.
    """

    _made: OrderedDict[tuple[str, Pair], Change | None] = field(default_factory=OrderedDict)
    _size: int = 0

    def get(self, name: str, pair: Pair, make: Callable[[], Change | None]) -> Change | None:
        """The change of a file, made by `make` where it is not remembered."""
        key = (name, pair)
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        change = self._made[key] = make()
        self._size += _size(change)
        while self._size > REMEMBERED and len(self._made) > 1:
            self._size -= _size(self._made.popitem(last=False)[1])
        return change


def _size(change):
    return len(change.diff) + 200 * len(change.hunks) if change else 0
