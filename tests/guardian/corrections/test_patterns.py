"""Patterns of rules: matching, the proposed pattern, and bounded work."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.corrections import patterns
from openclaw_web.errors import Refused


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=600))
def test_a_proposal_matches_its_own_fact(fact):
    made = patterns.propose_pattern(fact)
    assert len(made) <= patterns.LONGEST
    assert patterns.matches_text(made, fact) if made else not patterns.normalise_fact(fact)


@given(st.text("ab1 9_.(é语\u0301", max_size=900))
def test_a_proposal_matches_its_own_long_fact(fact):
    made = patterns.propose_pattern(fact)
    assert len(made) <= patterns.LONGEST
    assert patterns.matches_text(made, fact) if made else not patterns.normalise_fact(fact)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("Likes tea.", r"Likes\W+tea"),
        ("  Wakes at 7:30,\n every day!", r"Wakes\W+at\W+[0-9]+\W+[0-9]+\W+every\W+day"),
        ("喜欢绿茶。", "喜欢绿茶"),
        ("!!", "!!"),
        ("", ""),
    ],
)
def test_what_is_proposed(fact, expected):
    assert patterns.propose_pattern(fact) == expected


@pytest.mark.parametrize(
    ("pattern", "fact", "fits"),
    [
        (r"likes\W+tea", "The user LIKES — tea", True),
        ("^likes", "The user likes tea", False),
        ("tea$", "likes\ntea", True),
        ("é", unicodedata.normalize("NFD", "café"), True),
        ("CAFÉ", "café", True),
        ("strasse", "Straße", False),
        ("likes tea", "li\u200bkes\u00a0 tea", True),
    ],
)
def test_what_counts_as_the_same(pattern, fact, fits):
    assert patterns.matches_text(pattern, fact) is fits


@pytest.mark.parametrize("pattern", ["", "(", r"(a)\1", "(?=a)", "a{1000}", "((a{1,99}){1,99}){1,9}", "a" * 301, r"\C"])
def test_patterns_that_are_refused_with_a_sentence(pattern):
    with pytest.raises(Refused) as refused:
        patterns.compile_pattern(pattern)
    assert refused.value.sentence.endswith(".")


HOSTILE = [r"(a+)+$", r"(a|a)*b", r"(.*a){9}$", r"(x+x+)+y", r"(?:a?){99}a{99}", r"(a*)*(a*)*(a*)*b"]


@given(st.sampled_from(HOSTILE), st.text("abx", min_size=1, max_size=4))
def test_hostile_patterns_end(pattern, piece):
    """Engines with backtracking would need longer for these than anybody lives."""
    fact = (piece * patterns.LONGEST_FACT)[: patterns.LONGEST_FACT]
    assert patterns.matches_text(pattern, f"{fact}!") in (True, False)
    assert patterns.matches_text(r"b$|(?:a|b|x)*!$", f"{fact[:-1]}!")
