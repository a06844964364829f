"""Patterns of operators: what they find, and the sentences that refuse them."""

import json

import pytest

from openclaw_web.detectors.custom_patterns import compile_patterns
from openclaw_web.detectors.detect import find_spans

DEFAULTS = ["api[_-]?key", "password", "token", "secret", "-----BEGIN.*-----"]


def find_texts(text, *patterns):
    return [
        (span.kind, span.rule, text[span.start : span.end]) for span in find_spans(text, compile_patterns(patterns))
    ]


def test_a_pattern_finds_what_it_matches():
    assert find_texts("see ACME-1234 and acme-9", r"ACME-\d{4}") == [("custom", r"ACME-\d{4}", "ACME-1234")]


def test_the_defaults_of_the_spec_name_assignments():
    assert compile_patterns(DEFAULTS).patterns == ()
    text = "the token and the secret and the password: Regen44!x"
    assert find_texts(text, *DEFAULTS) == [("password", "assigned-password", "Regen44!x")]


def test_a_larger_match_keeps_the_finding_within_and_takes_the_rest():
    assert [kind for kind, _rule, _text in find_texts("<ticket bob@acme.io closed>", "<.{3,40}>")] == [
        "custom",
        "email",
        "custom",
    ]


@pytest.mark.parametrize("pattern", ["a.*z", '"[^"]*"', r"\d+", "[^x]{3}b", ":", "true"])
def test_json_stays_json(pattern):
    text = json.dumps({"a": "z bz", "number": 123456, "flag": True, "deep": json.dumps({"az": [17, "b z"]})})
    spans = find_spans(text, compile_patterns([pattern]))
    pieces, place = [], 0
    for span in spans:
        pieces += [text[place : span.start], f"{span.quote}TOKEN{span.quote}"]
        place = span.end
    value = json.loads("".join([*pieces, text[place:]]))
    json.loads(value["deep"]) if "deep" in value else None
    assert len(value) <= 4


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (".", "most of an ordinary sentence"),
        (".*", "the empty text"),
        (r"\w+", "most of an ordinary sentence"),
        ("[a-z]+", "most of an ordinary sentence"),
        ("x*", "the empty text"),
        (r"\b", "the empty text"),
        ("", "An empty pattern"),
        ("  ", "An empty pattern"),
        (r"[^\x00-\x{10FFFF}]", "match nothing"),
        (r"a\zb", "match nothing"),
        (r"x$^y", "match nothing"),
        ("(", "no regular expression"),
        (r"(a)\1", "no regular expression"),
        ("\ud800", "no regular expression"),
        ("a" * 501, "too large"),
        ("(a{100}){9}{9}", "no regular expression|too large"),
    ],
)
def test_a_pattern_that_would_harm_is_refused_with_a_sentence(pattern, words):
    with pytest.raises(ValueError, match=words):
        compile_patterns([pattern])


def test_too_many_patterns_are_refused():
    with pytest.raises(ValueError, match="101 patterns"):
        compile_patterns([f"case-{number}" for number in range(101)])
