import orjson
from hypothesis import given
from hypothesis import strategies as st

from ledger.trimming import CAP, trim, untrim

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


def longest(value):
    if isinstance(value, str):
        return len(value)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return max(map(longest, items), default=0)


def test_an_output_that_says_more_than_the_text_is_kept():
    record = {"message": {"content": [{"type": "text", "text": "short"}], "details": {"aggregated": "short and more"}}}
    line = orjson.dumps(record)
    assert trim(record, line) == (line, None, None)
