"""Rules in words: lines become a pattern and back, and match as they read."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.corrections import patterns
from openclaw_web.errors import Refused

ALPHABET = "aAnNuUtT éÉüñ ß 坚果无ｎＮｕｔ１12_-.|\\()b?рИс"
PIECES = st.text(ALPHABET, min_size=1, max_size=5)
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=3), min_size=1, max_size=4)
FACTS = st.text(ALPHABET + "\u0301\u200b\n", max_size=60)


def normalise(text):
    """Normalise a text for comparison: NFC, full-width as usual, one blank, lower case."""
    seen = "".join(char for char in text if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf"))
    seen = unicodedata.normalize("NFC", " ".join(seen.split()))
    return unicodedata.normalize("NFKC", seen).lower() if any(char > "\uff00" for char in seen) else seen.lower()


def is_letter(char):
    """Whether a character is of a script that puts blanks between words."""
    name = unicodedata.name(char, "")
    return name.startswith(("LATIN", "CYRILLIC", "DIGIT", "COMBINING"))


def contains_piece(piece, fact):
    """Whether a fact contains a piece.

    A piece that is a word must begin a word, one of two letters must be a whole word, anything else may stand anywhere.
    """
    start = fact.find(piece)
    while start >= 0:
        before, after = fact[start - 1 : start], fact[start + len(piece) : start + len(piece) + 1]
        is_word, is_whole = is_letter(piece[0]), len(piece) <= 2 and all(map(is_letter, piece))
        if not (is_word and before and is_letter(before)) and not (is_whole and after and is_letter(after)):
            return True
        start = fact.find(piece, start + 1)
    return False


@given(LINES, FACTS)
def test_lines_match_as_they_read(lines, fact):
    read = patterns.read_lines(patterns.format_lines(lines))
    if read:
        is_match = all(any(contains_piece(normalise(piece), normalise(fact)) for piece in line) for line in read)
        assert patterns.matches_text(patterns.write_pattern(read), fact) is is_match


@given(LINES)
def test_lines_come_back_from_their_pattern(lines):
    read = patterns.read_lines(patterns.format_lines(lines))
    if read and not any(piece.endswith("\\b") for line in read for piece in line):
        pattern = patterns.write_pattern(read)
        assert patterns.read_pattern(pattern) == read
        assert patterns.clean(pattern.replace("\n", "\r\n")) == pattern


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_fact_contains_its_own_words(fact):
    for piece in patterns.fold(fact).split():
        lines = patterns.read_lines(piece)
        if lines and max(map(len, lines[0])) <= patterns.LONGEST_PIECE:
            assert patterns.matches_text(patterns.write_pattern(patterns.check_lines(lines)), fact)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028", ","])
def test_a_piece_of_the_api_is_one_piece(end):
    assert patterns.check_lines([[f"green{end}tea", "coal"]]) == (("green tea", "coal"),)


@pytest.mark.parametrize(
    ("words", "fact", "fits"),
    [
        ("nut", "Contains NUTS.", True),
        ("nut", "Every minute counts.", False),
        ("no", "It is not now.", False),
        ("no, without，free of\nnut", "Free of nuts", True),
        ("nut\nno", "no sesame", False),
        ("坚果", "本品不含坚果。", True),
        ("nut", "不含nut的面包", True),
        ("рис", "Борис", False),
        ("рис", "любит рис", True),
        ("nut", "ＮＵＴ　free", True),
        ("ｎｕｔ", "nuts", True),
        ("cafe\u0301", "CAFÉ", True),
        ("5 pm", "at 15 pm", False),
        ("peanut butter", "peanut\n butter", True),
    ],
)
def test_what_words_find(words, fact, fits):
    assert patterns.matches_text(patterns.write_pattern(patterns.read_lines(words)), fact) is fits


@pytest.mark.parametrize(
    "lines", [[], [["!"] * 1, ["?"], ["x"], ["y"], ["z"], ["w"]], [[f"a{n}" for n in range(21)]], [["x" * 61]], [[","]]]
)
def test_lines_that_cannot_be_a_rule(lines):
    with pytest.raises(Refused) as refused:
        patterns.check_lines(lines)
    assert refused.value.sentence.endswith(".")


def test_a_thousand_rules_and_a_long_fact():
    """All rules are compiled once, and none exceeds the size limit, for any fact."""
    fact = patterns.encode_fact("nu minute no ut坚ａ" * 400)
    rules = [
        patterns.write_pattern(((f"w{n}", "nut", "坚果"), ("minute", f"x{n}"), (f"no{n % 7}", "ut")))
        for n in range(1_000)
    ]
    assert not any(patterns.matches_encoded(rule, fact) for rule in rules)
    misses = patterns.compile_pattern.cache_info().misses
    assert not any(patterns.matches_encoded(rule, fact) for rule in rules)
    assert patterns.compile_pattern.cache_info().misses == misses
    biggest = patterns.check_lines([[f"{letter}é坚{n:055d}" for n in range(4) for letter in "k"]] * 5)
    assert all(patterns.compile_line(line).programsize <= 3_000 for line in biggest)
