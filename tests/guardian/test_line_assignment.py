"""Assignment of lines to writes, compared with a model that carries writers along.

The model takes each line's writer along from the first write on.
"""

from hypothesis import given
from hypothesis import strategies as st

from guardian.changes import compute_change
from guardian.detail.line_blame import assign_writes
from guardian.services import bytes_to_text
from openclaw_web.diffs.line_diff import split_lines

states = st.lists(st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d"]), max_size=10).map("".join), max_size=8)


def find_line_writers(states):
    """Return the writer of each line of the last state."""
    writers, before = [], None
    for number, state in enumerate(states):
        hunks = compute_change(None if before is None else before.encode(), state.encode(), "MEMORY.md").hunks
        for old_start, old_end, new_start, new_end in reversed(hunks):
            writers[old_start:old_end] = [f"w{number}"] * (new_end - new_start)
        before = state
    return writers


def writes(states):
    before = [None, *states][: len(states)]
    for number, (old, new) in enumerate(zip(before, states, strict=True)):
        yield f"w{number}", compute_change(None if old is None else old.encode(), new.encode(), "MEMORY.md").hunks


@given(states)
def test_it_is_what_each_line_carried_with_it(states):
    count = len(split_lines(states[-1])) if states else 0
    assert assign_writes(count, reversed(list(writes(states)))) == (find_line_writers(states) if states else [])


@given(states, st.integers(0, 8))
def test_lines_from_before_the_first_write_are_nobodys(states, known):
    count = len(split_lines(states[-1])) if states else 0
    later_writes = list(writes(states))[known:]
    named = {name for name, _hunks in later_writes}
    expected = [name if name in named else None for name in (find_line_writers(states) if states else [])]
    assert assign_writes(count, reversed(later_writes)) == expected


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_numbers_of_a_change(before, after):
    change = compute_change(before, after, "USER.md")
    assert change.added - change.removed == len(split_lines(bytes_to_text(after))) - len(
        split_lines(bytes_to_text(before))
    )
    assert change.modified <= min(change.added, change.removed)
    assert bool(change.diff) == (before != after)


def test_a_file_that_was_not_there():
    change = compute_change(None, b"one\ntwo", "USER.md")
    assert (change.added, change.removed, change.modified, change.hunks) == (2, 0, 0, ((0, 0, 0, 2),))
    assert change.diff.startswith("--- /dev/null\n+++ b/USER.md\n")
