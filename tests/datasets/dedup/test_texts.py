"""The words by which samples are compared, and their signatures."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.dedup.minhash import compute_signature
from datasets.dedup.texts import build_grams, compute_identity, jaccard, split_words
from tests.datasets.dedup import sample_texts

# datasketch unchanged, in a separate process, because `datasets` is another package there.
ROOT = Path(__file__).resolve().parents[3]
PLAIN = r"""
import sys
from datasketch import MinHash
for line in sys.stdin.read().split("\n"):
    signature = MinHash(128)
    signature.update_batch([gram.encode() for gram in line.split("\t")])
    print(signature.hashvalues.astype("<u4").tobytes().hex())
"""


@pytest.mark.parametrize(
    ("prompt", "reply", "words"),
    [
        ("Hello, World!", "It's\n\n**fine**.", "hello world it s fine"),
        ("STRASSE", "Straße", "strasse strasse"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "ﬁne", "full width fine"),
        ("导入 done?", "是的", "导 入 done 是 的"),
        ("👍", "ok 🔧", "👍 ok 🔧"),
        ("a_b 10:30", "", "a_b 10 30"),
        ("…", "!?", ""),
    ],
)
def test_words_are_compared_without_case_width_and_punctuation(prompt, reply, words):
    assert split_words(prompt, reply) == words.split()


def test_fewer_than_five_words_are_one_gram():
    assert build_grams(["a", "b", "c", "d"]) == {("a", "b", "c", "d")}
    assert build_grams(["a", "b", "c", "d", "e"]) == {("a", "b", "c", "d", "e")}
    assert len(build_grams(["a", "b", "c", "d", "e", "f"])) == 2
    assert not build_grams([])


@given(st.text(), st.text())
def test_whatever_is_said_has_a_signature_of_one_length(prompt, reply):
    words = split_words(prompt, reply)
    assert len(compute_signature(build_grams(words))) == (512 if words else 0)
    assert jaccard(build_grams(words), build_grams(words)) == (1.0 if words else 0.0)


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_an_identity_belongs_to_one_pair(first, second):
    assert (compute_identity(*first) == compute_identity(*second)) == (first == second)


def test_halves_of_surrogate_pairs_are_compared_too():
    half = "\ud83d and four more words"
    assert (
        len(compute_identity(half, half)) == 32 and len(compute_signature(build_grams(split_words(half, half)))) == 512
    )


def test_a_signature_is_that_of_the_library():
    """The library is installed for tests only; our signatures equal its own, number by number."""
    texts = [
        build_grams(sample_texts.STORY),
        *(build_grams([f"{seed}-{n}" for n in range(seed)]) for seed in (1, 4, 5, 6, 60, 3_000)),
    ]
    lines = "\n".join("\t".join("\x1f".join(gram) for gram in text) for text in texts)
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN], input=lines, capture_output=True, check=True, text=True
    )
    assert [bytes.fromhex(line) for line in output.stdout.split()] == [compute_signature(text) for text in texts]


def test_a_whole_has_the_smallest_numbers_of_its_parts():
    words = [str(number) for number in range(7_000)]
    whole, halves = (
        compute_signature(build_grams(words)),
        [compute_signature(build_grams(words[:3_504])), compute_signature(build_grams(words[3_500:]))],
    )
    numbers = zip(*(struct.iter_unpack("<I", half) for half in halves), strict=True)
    assert whole == b"".join(struct.pack("<I", *min(pair)) for pair in numbers)
