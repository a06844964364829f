"""Markers in replies, as the parsers of OpenClaw 2026.9.6 read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.answers import ALONE, find_answer
from ledger.collectors.records import read_facts
from ledger.collectors.reply_markers import strip_markers
from tests.homes import assistant

# reply -> the words and the number of files that `parseReplyDirectives` of the npm package gave for it
PARSED = {
    "[[reply_to_current]] Nine.": ("Nine.", 0),
    "Nine. [[ reply_to: 42 ]]": ("Nine.", 0),
    "Nine.[[Reply_To_Current]]Ten.": ("Nine. Ten.", 0),
    "[[reply_to_current]\nNine.": ("Nine.", 0),
    "[[reply_to: 7] Nine.": ("Nine.", 0),
    "[[reply_to_current Nine.": ("Nine.", 0),
    "[[audio_as_voice]]\nNine.": ("Nine.", 0),
    "One.\n\n[[audio_as_voice]]\n\nTwo.": ("One.\n\nTwo.", 0),
    "See:\nMEDIA: /tmp/a.png\nDone.": ("See:\nDone.", 1),
    "MEDIA:./cake.png": ("", 1),
    "[[audio_as_voice]]\nMEDIA: ~/voice.ogg": ("", 1),
    "media: https://example.org/a.png with words": ("with words", 1),
    'MEDIA: "./a b.png"': ("", 1),
    "MEDIA: `/tmp/a b.png`": ("", 1),
    "MEDIA: file:///tmp/a.png": ("", 1),
    "MEDIA: C:\\Users\\ada\\a.png": ("", 1),
    "MEDIA: photo.png": ("", 1),
    "Up:\nMEDIA: ../secret.png": ("Up:", 0),
    "- a tag:\n\n  ```\n  [[reply_to_current]]\n  ```": ("- a tag:\n\n  ```\n  [[reply_to_current]]\n  ```", 0),
    "Write `[[reply_to_current]]` first.": ("Write `[[reply_to_current]]` first.", 0),
    "```\nMEDIA: /tmp/a.png\n```": ("```\nMEDIA: /tmp/a.png\n```", 0),
    "~~~\nMEDIA: /tmp/a.png\n~~~\nMEDIA: /tmp/b.png": ("~~~\nMEDIA: /tmp/a.png\n~~~", 1),
    "MEDIA: http://example.org/a.png": ("MEDIA: http://example.org/a.png", 0),
    "MEDIA: https://localhost/a.png": ("MEDIA: https://localhost/a.png", 0),
}
# What people's agents write that only looks alike.
USUAL = (
    "MEDIA: the press was there all day",
    "Our social media: nothing new today.",
    "The line MEDIA: /tmp/a.png shows a picture.",
    "MEDIA:",
    "See [[reply to Ada]] in the notes, or [[Bread]].",
    "Then [[reply_to_current goes first.",
    "A matrix: [[1, 2], [3, 4]]",
    "[reply_to_current] has one bracket only.",
)


@pytest.mark.parametrize(("reply", "parsed"), PARSED.items())
def test_markers_are_read_as_openclaw_reads_them(reply, parsed):
    assert strip_markers(reply) == parsed
    assert strip_markers(parsed[0]) == (parsed[0], 0)


@pytest.mark.parametrize("reply", USUAL)
def test_usual_words_stay(reply):
    assert strip_markers(reply) == (reply, 0)


@given(
    st.lists(st.sampled_from([*PARSED, "`", "```\n", "    ", "\n", "\n\n", "words", "[[", "]]", "MEDIA: ", "\ue000"]))
)
def test_nothing_but_markers_and_blanks_is_taken_out(pieces):
    reply = "".join(pieces)
    words, files = strip_markers(reply)
    rest = iter(reply)
    assert files <= len(reply.split()) and all(sign in rest for sign in "".join(words.split()))


@pytest.mark.parametrize(
    "piece",
    [
        "".join(map(chr, range(0xE000, 0xF900))),
        "[[reply_to:",
        "[[audio_as_voice]] `",
        "MEDIA: /a.png\n",
        "MEDIA: a b\n",
        "```\n",
        " \n",
        "` `` ",
    ],
)
def test_hostile_replies_take_no_longer_than_their_length_asks_for(piece):
    strip_markers(f"MEDIA: ./a.png\n{piece * (400_000 // len(piece))}[[audio_as_voice]]")


def test_a_reply_of_files_alone_is_a_picture():
    record = assistant("[[reply_to_current]]\nMEDIA: ./cake.png")
    answer = find_answer([read_facts(assistant("Let me draw.")), read_facts(record)], ALONE)
    assert (answer.text, answer.state, answer.delivery, answer.place) == ("", "pictures", "not_known", 1)
