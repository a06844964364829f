import orjson
from hypothesis import given
from hypothesis import strategies as st

from artifacts import handles
from ledger.transcripts.trimming import CAP, RESULT_CAP, RESULT_KEPT, parse_cuts, trim, untrim
from openclaw_web.disk import packing

TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers(CAP - 2, CAP + 50).map("y".__mul__),
    st.integers(1, 30).map(lambda n: "长" * n * 400),
)
VALUES = st.recursive(
    TEXTS | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5))
def test_what_is_trimmed_comes_back_whole(record):
    line = orjson.dumps(record)
    event_json, note, packed = trim(orjson.loads(line), line)
    assert untrim(event_json.decode(), packed) == record
    assert (packed is None) == (not note or "capped" not in orjson.loads(note))
    assert longest(orjson.loads(event_json)) <= CAP


@given(st.one_of(st.text(), VALUES), st.integers(RESULT_CAP - 2, RESULT_CAP + 3), VALUES)
def test_a_result_keeps_less_and_comes_back_whole(odd, length, details):
    texts = [odd, {"type": "text", "text": "长" * length}, {"a.b": "x" * 9_000}]
    record = {"message": {"role": "toolResult", "content": texts, "details": details}}
    line = orjson.dumps(record)
    event_json, note, packed = trim(orjson.loads(line), line)
    assert untrim(event_json.decode(), packed) == record
    kept_length = len(orjson.loads(event_json)["message"]["content"][1]["text"])
    assert kept_length == (length if length <= RESULT_CAP else RESULT_KEPT)
    assert dict(parse_cuts(note)).get("message.content.1.text", 0) == length - kept_length


def test_a_handle_that_the_cut_goes_through_is_whole_in_the_rest():
    handle = handles.from_sha256("a" * 64)
    text = "x" * (RESULT_KEPT - 40) + handle + "y" * RESULT_CAP
    line = orjson.dumps({"message": {"role": "toolResult", "content": text}})
    event_json, _note, packed = trim(orjson.loads(line), line)
    assert handle.encode() not in event_json
    assert handle.encode() in packing.unpack(packed)


def longest(value):
    if isinstance(value, str):
        return len(value)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return max(map(longest, items), default=0)


def test_an_output_that_says_more_than_the_text_is_kept():
    record = {"message": {"content": [{"type": "text", "text": "short"}], "details": {"aggregated": "short and more"}}}
    line = orjson.dumps(record)
    assert trim(record, line) == (line, None, None)
