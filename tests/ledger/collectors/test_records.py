import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.records import parse_moment_ms, read_facts, read_file_lists
from ledger.collectors.senders import find_sender_ids

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=5,
)
WORDS = """
id parentId timestamp message role content usage details model stopReason cost toolCallId arguments input name text
type summary data modelId isError status exitCode total thinking __openclaw provider readFiles
"""
NAMES = st.sampled_from(WORDS.split())
RECORDS = st.recursive(JSON, lambda inner: st.dictionaries(NAMES, inner, max_size=5), max_leaves=10)


@given(st.dictionaries(NAMES, RECORDS, max_size=8), st.sampled_from(["message", "compaction", "custom", "x", "leaf"]))
def test_no_shape_of_record_makes_it_fail(record, type_):
    parsed = read_facts({**record, "type": type_})
    assert parsed.created_at is None or 946_684_800_000 <= parsed.created_at <= 4_102_444_800_000
    assert all(isinstance(call.arguments, dict) for call in parsed.calls)
    assert isinstance(parsed.text, str)


@given(
    role=st.sampled_from(["user", "assistant", "toolResult", "other", None]),
    content=RECORDS,
    rest=st.dictionaries(NAMES, RECORDS, max_size=6),
)
def test_no_shape_of_message_makes_it_fail(role, content, rest):
    read_facts({"type": "message", "message": {**rest, "role": role, "content": content}})


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2026-02-21T03:00:01.500Z", 1771642801500),
        ("2026-02-21T11:00:01.500+08:00", 1771642801500),
        ("2026-02-21T03:00:01", 1771642801000),
        (1771642801500, 1771642801500),
        (1771642801500.7, 1771642801500),
        ("yesterday", None),
        (10**30, None),
        (-5, None),
        (True, None),
        (None, None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_moments(value, ms):
    assert parse_moment_ms(value) == ms


def test_the_channel_envelope_is_not_the_persons_words():
    info = orjson.dumps({"sender_id": "42", "sender": "Alice", "timestamp": "Sat"}, option=orjson.OPT_INDENT_2).decode()
    text = f"Conversation info (untrusted metadata):\n```json\n{info}\n```\n\nHello ```json\n{{}}\n``` there"
    parsed = read_facts({"type": "message", "message": {"role": "user", "content": text}})
    assert parsed.text == "Hello ```json\n{}\n``` there"
    assert find_sender_ids(parsed.sender) == {"42", "Alice"}


@pytest.mark.parametrize(
    ("text", "words", "injected"),
    [
        ("[Sat 2026-11-21 11:10 GMT+8] And now?", "And now?", None),
        ("System: [2026-11-21 11:10:38 GMT+8] Model switched.\n\n[Sat 2026-11-21 11:10 GMT+8] And?", "And?", None),
        ("[cron:j1 Meeting Intel] Check", "[cron:j1 Meeting Intel] Check", "cron"),
        ("[OpenClaw cron wake]", "[OpenClaw cron wake]", "cron"),
        ("A new session was started via /new or /reset. Greet.", None, "new_session"),
        ("Pre-compaction memory flush. Store now.", None, "memory_flush"),
        ("[1] is a list item", "[1] is a list item", None),
    ],
)
def test_lines_of_the_gateway(text, words, injected):
    parsed = read_facts({"type": "message", "message": {"role": "user", "content": text}})
    assert parsed.text == (words or text)
    assert parsed.sender.get("injected") == injected


def test_file_lists_come_from_the_details_first():
    summary = "<read-files>\n- a.md\nb.md\n</read-files>"
    assert read_file_lists(summary, {}) == (["a.md", "b.md"], [])
    assert read_file_lists(summary, {"readFiles": ["c.md"], "modifiedFiles": "no"}) == (["c.md"], [])


def test_arguments_in_a_text_are_no_deeper_than_a_record_may_be():
    deep = '{"a":' * 300 + "1" + "}" * 300
    block = {"type": "toolCall", "id": "c", "name": "exec", "arguments": deep}
    [call] = read_facts({"type": "message", "message": {"role": "assistant", "content": [block]}}).calls
    assert call.arguments == {"_text": deep}
