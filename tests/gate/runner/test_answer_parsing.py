"""Answers of models are one object with a decision, or malformed."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.runner.answer_parsing import DECISIONS, MalformedAnswer, parse_answer
from gate.runner.prompts import BUILT_IN
from tests.odd_json import JSON

GOOD = {"decision": "UPDATE_USER", "reason": "Likes tea.", "candidateFact": "The user likes tea."}
TEXT = orjson.dumps(GOOD).decode()


def with_(**changes):
    return orjson.dumps(GOOD | changes).decode()


@pytest.mark.parametrize(
    "text", [TEXT, f"  {TEXT}\n", f"```json\n{TEXT}\n```", f"```\n{TEXT}```\n", with_(confidence=1)]
)
def test_one_object_is_a_decision(text):
    decision = parse_answer(text)
    assert (decision.decision, decision.reason, decision.candidate_fact) == tuple(GOOD.values())


@pytest.mark.parametrize("fact", [None, "", "  "])
def test_no_write_has_no_fact(fact):
    assert parse_answer(with_(decision="NO_WRITE", candidateFact=fact)).candidate_fact is None
    assert parse_answer('{"decision": "NO_WRITE", "reason": "Small talk."}').candidate_fact is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "not_an_object"),
        ("I would write nothing.", "not_an_object"),
        (f"Here you are: {TEXT}", "not_an_object"),
        (f"{TEXT}\nThat is all.", "not_an_object"),
        (f"```json\n{TEXT}\n```\n```json\n{TEXT}\n```", "not_an_object"),
        (f"{TEXT}{TEXT}", "not_an_object"),
        (f"[{TEXT}]", "not_an_object"),
        (TEXT[:-1], "not_an_object"),
        (TEXT[: len(TEXT) // 2], "not_an_object"),
        ('{"decision": "NO_WRITE", "decision": "UPDATE_SOUL", "reason": "x"}', "not_an_object"),
        ("[" * 100_000, "not_an_object"),
        ('{"a":' * 100_000, "not_an_object"),
        ('{"decision": "\\ud800"}', "not_an_object"),
        ('{"decision": NaN}', "not_an_object"),
        ("9" * 10_000, "not_an_object"),
        ("{}", "unknown_decision"),
        (with_(decision="no_write"), "unknown_decision"),
        (with_(decision="DELETE_MEMORY"), "unknown_decision"),
        (with_(decision=["NO_WRITE"]), "unknown_decision"),
        (with_(reason=None), "missing_reason"),
        (with_(reason=" "), "missing_reason"),
        (with_(reason="x" * 20_001), "missing_reason"),
        (with_(reason="a\x00b"), "missing_reason"),
        (with_(candidateFact=None), "missing_candidate_fact"),
        (with_(candidateFact=" "), "missing_candidate_fact"),
        (with_(candidateFact={"fact": "tea"}), "missing_candidate_fact"),
        (with_(candidateFact="x" * 20_001), "missing_candidate_fact"),
        (with_(decision="NO_WRITE"), "unexpected_fact"),
        (with_(decision="NO_WRITE", candidateFact=[]), "unexpected_fact"),
    ],
)
def test_anything_else_is_malformed(text, kind):
    with pytest.raises(MalformedAnswer) as caught:
        parse_answer(text)
    assert caught.value.kind == kind
    assert caught.value.sentence.endswith(".")


OBJECTS = st.fixed_dictionaries(
    {}, optional={"decision": st.sampled_from(sorted(DECISIONS)) | JSON, "reason": JSON, "candidateFact": JSON}
).map(json.dumps)
BYTES = st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))


@given(st.text() | BYTES | OBJECTS)
def test_any_text_is_a_decision_or_malformed(text):
    try:
        decision = parse_answer(text)
    except MalformedAnswer:
        return
    assert decision.decision in DECISIONS
    assert decision.reason.strip()
    assert (decision.candidate_fact is None) == (decision.decision == "NO_WRITE")


def test_the_built_in_prompt_names_the_six_decisions_and_the_three_names():
    assert all(name in BUILT_IN for name in (*DECISIONS, "decision", "reason", "candidateFact"))
