"""A person's words without what OpenClaw puts around them, in every spelling."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.collectors.message_unwrapping import unwrap_message
from tests.ledger.collectors.envelope_table import BLOCKS, ENDS, FENCE, MARK, PREFIX

WORDS = "What is **this**?\n\n```json\n{}\n```\n\nIt ends with (untrusted) words: yes"
MEMORY = "<active_memory_plugin>"


@pytest.mark.parametrize("prefix", ["", PREFIX])
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_is_taken_off(block, prefix):
    message = unwrap_message(f"{prefix}{block}\n{WORDS}")
    assert (message.words, message.unknown) == (WORDS, "")
    assert unwrap_message(f"{block}\n{prefix}{WORDS}").words == WORDS


@pytest.mark.parametrize(("first", "second"), [*itertools.pairwise([*BLOCKS, BLOCKS[0]])])
def test_several_blocks_follow_one_another(first, second):
    for end in ("", *ENDS):
        message = unwrap_message(f"{PREFIX}{first}\n{second}\n{WORDS}\n\n{end}".rstrip("\n"))
        assert (message.words, message.unknown) == (WORDS, "")


@pytest.mark.parametrize("block", [block for block in BLOCKS if MARK in block or MEMORY in block])
def test_blocks_between_words_are_taken_off(block):
    message = unwrap_message(f"One\n\n{block}\nTwo")
    assert (message.words, message.unknown) == ("One\n\nTwo", "")


def test_all_blocks_at_once():
    for blocks in (BLOCKS, BLOCKS[::-1]):
        text = PREFIX + "\n".join(blocks) + "\n" + PREFIX + WORDS
        assert unwrap_message(text).words == WORDS
        assert unwrap_message(f"{text}\n\n{ENDS[0]}").words == WORDS
        assert unwrap_message(f"{text}\n\n{ENDS[1]}").words == WORDS


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "",
        "\n\n  Hello \n",
        "[1] is a list item",
        "I saw ⟦openclaw:ctx⟧ in a file",
        "Look:\nthe note says Sender (untrusted metadata):\n```json\n{}\n```",
        "Context: all of it",
        "Context:\nplain",
        "Delivery: tomorrow, use the back door",
        "an untrusted guest",
        "System: it is down",
    ],
)
def test_words_that_are_no_envelope_stay(text):
    message = unwrap_message(text)
    assert (message.words, message.blocks, message.unknown) == (text, [], "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f'Sender: {MARK}\n```json\n{{"id": "42"\n\nHello',
            None,
        ),  # it never ends: nobody can tell where the words begin
        (f"Sender: {MARK}\n```json\n{{broken\n```\n\nHello", "Hello"),
        (f"Sender: {MARK}\n```json\n[1]\n```\n\nHello", "Hello"),
        (f"Conversation info: {MARK}\nin plain lines\n\nHello", "Hello"),
        ("Sender (untrusted metadata):\nin plain lines\n\nHello", "Hello"),
        ("Something new (untrusted, whatever):\nbob\n\nHello", None),
        ("Context:\n<active_memory_plugin>\nit never ends\nHello", None),
        ("[Carrier Ada (@ada) id:42 2026-01-30 11:10 GMT+8] Hello", None),
        ("[Voice note: 12 s]\nHello", None),
        ("[Something new - for context]\nbob: hi\n\nHello", None),
        ("[Deferred messages]\nHello", None),
        ("[job:4711ab9 Morning] Hello", None),
        ("[OpenClaw nightly poll]", None),
        ("<<<BEGIN_SOMETHING_NEW>>>\nHello", None),
        ("System: channels are linked\n\nHello", None),
        ("[Audio]\nin a new spelling", None),
        ("[Chat messages since your last reply - for context]\nbob: hi\n\nHello", None),
        (f"Hello\n{MARK}\n", None),
    ],
)
def test_what_is_not_understood_is_said_and_its_words_are_kept(text, words):
    message = unwrap_message(text)
    assert message.unknown
    assert message.unknown in text
    assert message.words == (words or text)


def test_a_quote_of_telegram_is_no_word_of_the_person():
    quote = 'Current message:\n[Replying to: "she said \\"no\\""]\n#77: '
    message = unwrap_message(f"Conversation info: {MARK}{FENCE}\n{quote}yes")
    assert message.words == "yes"
    assert [block.kind for block in message.blocks] == ["conversation", "quote"]


PIECES = st.sampled_from([*BLOCKS, *ENDS, PREFIX, WORDS, "\n", "```json\n", "```\n", MARK, "Context:\n", MEMORY])
LINE = st.sampled_from(
    [line for block in [*BLOCKS, *ENDS] for line in block.split("\n")] + [PREFIX, "System: [2026-11-21 x] y", "words"]
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=8).map("".join) | st.lists(LINE, max_size=14).map("\n".join)


@settings(max_examples=400)
@given(TEXTS)
def test_unwrapping_words_again_changes_nothing(text):
    message = unwrap_message(text)
    assert unwrap_message(message.words).words == message.words


@given(st.lists(st.sampled_from(BLOCKS), max_size=4), st.sampled_from(["", *ENDS]), st.text(max_size=60))
def test_the_words_after_the_last_block_are_never_lost(blocks, end, words):
    text = "".join(f"{block}\n" for block in blocks) + f"Now: {words}" + (f"\n\n{end}" if end else "")
    assert f"Now: {words}".strip("\n") in unwrap_message(text).words
