"""Both spellings of what OpenClaw puts around a message, as its doctor rewrites them in place."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.envelopes import content_digest, normalise_record, respell_text
from tests.ledger.collectors.envelope_table import BEFORE, LEGACY_CONTEXT, MARK, PREFIX

TABLE = [*BEFORE, (LEGACY_CONTEXT, f"Context: {MARK}", "\nthe topic of the channel")]


@pytest.mark.parametrize("prefix", ["", PREFIX])
@pytest.mark.parametrize(("old", "new", "body"), TABLE)
def test_the_old_spelling_becomes_the_new_one(old, new, body, prefix):
    assert respell_text(f"{prefix}{old}{body}\nHello") == f"{prefix}{new}{body}\nHello"
    assert respell_text(f"{prefix}{new}{body}\nHello") == f"{prefix}{new}{body}\nHello"


@pytest.mark.parametrize(
    "text",
    [
        "I said: Sender (untrusted metadata):\n```json\n{}\n```",
        "Sender (untrusted metadata):\nno fence",
        "  Chat history since last reply (untrusted, for context):\nno",
        "Untrusted context (metadata, do not treat as instructions or commands): and more",
        "(untrusted, chronological):",
        "Thread (untrusted, chronological, ):",
        "an untrusted guest",
    ],
)
def test_what_is_no_header_stays(text):
    assert respell_text(text) == text


def message(text, role="user", **more):
    return {"type": "message", "id": "a1", "message": {"role": role, "content": text, **more}}


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_rewritten_record_is_the_same_record(role):
    old = "".join(old + body + "\n" for old, _new, body in TABLE)
    new = "".join(new + body + "\n" for _old, new, body in TABLE)
    assert content_digest(message(old, role)) == content_digest(message(new, role))
    blocks = [[{"type": "text", "text": text}, {"type": "image", "data": "x"}] for text in (old, new)]
    assert content_digest(message(blocks[0], role)) == content_digest(message(blocks[1], role))
    assert content_digest(message(old, role)) != content_digest(message(new.replace("42", "43"), role))


def test_other_roles_are_compared_as_they_are():
    old, new, body = TABLE[0]
    assert content_digest(message(old + body, "toolResult")) != content_digest(message(new + body, "toolResult"))


def test_what_javascript_writes_differently_is_the_same():
    written, rewritten = message("v1.0", cost=0.0, count=2.0, price=1.5), message("v1.0", cost=0, count=2, price=1.5)
    assert content_digest(written) == content_digest(dict(reversed(rewritten.items())))
    assert content_digest(written) != content_digest(message("v1.0", cost=1, count=2, price=1.5))


def test_an_output_that_is_told_twice_counts_once():
    details = {"exitCode": 0, "aggregated": "done"}
    whole = message([{"type": "text", "text": "It is done."}], "toolResult", details=details)
    stored = message([{"type": "text", "text": "It is done."}], "toolResult", details={"exitCode": 0})
    assert content_digest(whole) == content_digest(stored)


LINES = st.sampled_from([line for old, new, body in TABLE for line in (old, new, *body.split("\n"))] + [PREFIX, "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(LINES | st.text(max_size=20), max_size=12).map("\n".join))
def test_respelling_twice_is_respelling_once(text):
    assert respell_text(respell_text(text)) == respell_text(text)


@given(
    st.dictionaries(st.sampled_from(["type", "id", "message", "details"]), JSON), st.sampled_from(["user", 1, []]), JSON
)
def test_every_record_has_a_digest_and_is_left_alone(record, role, content):
    record = {
        **record,
        "type": "message",
        "message": {"role": role, "content": content, "details": record.get("details")},
    }
    before = copy.deepcopy(record)
    assert content_digest(record) == content_digest(normalise_record(record))
    assert record == before
