"""Lines of write_guardian's log: each is a write with its own id, or a problem."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gate.collectors.source_decisions import Rejection
from guardian.collectors.source_writes import LogReader, SourceWrite

LINE = {
    "timestamp": "2026-11-21T03:16:18.499Z",
    "decision": "UPDATE_USER",
    "status": "written",
    "candidateFact": "Tea.",
}


def lines(*entries):
    return [json.dumps(LINE | entry).encode() for entry in entries]


def read(raw):
    """Return the writes and problems that one reader finds in lines."""
    reader = LogReader()
    return [entry for line in raw if (entry := reader.feed(line)) is not None]


def test_a_file_that_is_not_named_is_that_of_the_decision():
    (write,) = read(lines({}))
    assert (write.target_file, write.kind, write.fact, write.status) == ("USER.md", "UPDATE_USER", "Tea.", "written")


def test_ids_are_always_the_same_and_equal_lines_are_one_write():
    ids = [write.id for write in read(lines({}, {}, {"candidateFact": "Milk."}))]
    assert len(ids) == len(set(ids)) == 2
    assert ids == [write.id for write in read(lines({}, {}, {"candidateFact": "Milk."}))]


def test_what_is_no_write_says_why():
    wrong = lines(
        {"status": "rolled_back"}, {"decision": "NO_WRITE"}, {"targetFile": "notes.md"}, {"timestamp": None},
        {"targetFile": "/srv/w/USER.md"}, {"candidateFact": 3},
    )  # fmt: skip
    assert all(isinstance(problem, Rejection) and problem.detail for problem in read(wrong))
    assert len(read(wrong)) == 6


@given(st.lists(st.binary(max_size=60)))
def test_any_bytes_are_writes_or_problems(raw):
    for entry in read(raw):
        assert isinstance(entry, SourceWrite | Rejection)
