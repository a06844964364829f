import io

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.jsonl import read_lines

LINES = st.lists(
    st.one_of(
        st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" ")),
        st.dictionaries(st.text(max_size=5), st.text(max_size=10), max_size=3).map(
            lambda record: orjson.dumps({**record, "type": "x"})
        ),
    ),
    max_size=20,
)


@given(LINES, st.integers(0, 20))
def test_reading_in_two_goes_gives_the_same_as_reading_at_once(lines, cut):
    data = b"".join(line + b"\n" for line in lines)
    whole = [(line.offset, line.record, line.reason) for line in read_lines(io.BytesIO(data))]
    first = list(read_lines(io.BytesIO(data[: len(data) * cut // 20])))
    end = first[-1].end if first else 0
    rest = list(read_lines(io.BytesIO(data), end))
    unfinished = [line for line in first if data[line.end - 1 : line.end] != b"\n"]
    if not unfinished:  # a whole object without its newline may be taken early; then offsets shift by that newline
        assert [(line.offset, line.record, line.reason) for line in [*first, *rest]] == whole


@given(LINES)
def test_every_line_is_a_record_or_says_why_not(lines):
    for line in read_lines(io.BytesIO(b"\n".join(lines)), is_closed=True):
        assert (line.record is None) == bool(line.reason)
        assert line.record is None or isinstance(line.record["type"], str)


def test_half_an_emoji_is_replaced_and_a_whole_one_kept():
    data = rb'{"type":"a","t":"\ud83d\ude00 \ud83d x \\ud83d"}' + b"\n"
    (line,) = read_lines(io.BytesIO(data))
    assert line.record["t"] == "\U0001f600 \ufffd x \\ud83d"
    assert orjson.loads(line.raw) == line.record


def test_a_last_line_without_newline_waits_unless_the_file_is_closed():
    data = b'{"type":"a"}\n{"type":"b'
    assert [line.reason for line in read_lines(io.BytesIO(data))] == [""]
    assert [line.reason for line in read_lines(io.BytesIO(data), is_closed=True)] == ["", "truncated"]
    whole = b'{"type":"a"}\n{"type":"b"}'
    assert [line.record["type"] for line in read_lines(io.BytesIO(whole))] == ["a", "b"]


def test_a_line_without_end_is_rejected_and_skipped(monkeypatch):
    monkeypatch.setattr("ledger.collectors.jsonl.MAX_LINE", 100)
    data = b"x" * 350 + b'\n{"type":"a"}\n'
    first, second = read_lines(io.BytesIO(data))
    assert (first.reason, first.end) == ("too_long", 351)
    assert second.record == {"type": "a"}


def _record(number, text=""):
    return orjson.dumps({"type": "message", "id": f"r{number}", "timestamp": "2026-03-01T10:00:00Z", "message": text})


# A damaged line: the ids of the records on it, the reasons of what is lost.
DAMAGED_LINES = {
    "half a record before": (_record(1)[:40] + _record(2), ["r2"], ["truncated"]),
    "zeros before": (b"\x00" * 4096 + _record(1), ["r1"], ["nul_bytes"]),
    "two records": (_record(1) + _record(2), ["r1", "r2"], []),
    "half a record behind": (_record(1) + b'{"ty', ["r1"], []),
    "a record in a text": (orjson.dumps({"text": _record(1).decode()})[:-1], [], ["truncated"]),
    "a value inside of a lost record": (b'{"id":"x","data":{"type":"message","a":1},"b', [], ["truncated"]),
    "no UTF-8 before": (b'{"type":"message","t":"\xff\xfe' + _record(2), ["r2"], ["not_utf8"]),
}


@pytest.mark.parametrize(("line", "ids", "reasons"), DAMAGED_LINES.values(), ids=DAMAGED_LINES)
def test_whole_records_on_a_damaged_line_are_recovered(line, ids, reasons):
    after = _record(9)
    lines = list(read_lines(io.BytesIO(line + b"\n" + after + b"\n")))
    assert [read.record["id"] for read in lines if read.record] == [*ids, "r9"]
    assert [read.reason for read in lines if not read.record] == reasons
    assert [read.offset for read in lines][-1] == len(line) + 1
    assert len({read.offset for read in lines}) == len(lines)
    assert lines[-2].end == len(line) + 1
