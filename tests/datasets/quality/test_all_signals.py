"""Signals by themselves: each is in every place that uses it, and answers what its table of cases says."""

import re
from pathlib import Path

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from datasets.models import TurnSignals
from datasets.quality import all_signals, scores
from datasets.quality.all_signals import ALL_BITS, BY_NAME, SIGNALS
from datasets.quality.signal import FACTORS, State
from datasets.quality.turn_texts import CallTexts, TurnTexts
from tests.datasets.verbs.verb_runs import read_receipt
from tests.factories import SampleFactory

DOCS = Path(__file__).parents[3] / "docs" / "review.md"
BITS = st.integers(0, ALL_BITS)


def ask(name, reply, question="How many rows are in the file?", **more):
    texts = TurnTexts("t1", question=question, reply_id="r9", at=1_772_000_000_000, next_question="", **more)
    texts.set_reply(reply)
    return all_signals.find_answers(texts)[name]


def read_call(path="a.csv", text="7 rows", name="read", is_failed=False):
    return CallTexts("c1", name, {"path": path}, "r2", text, is_failed)


@pytest.mark.django_db
def test_each_signal_is_in_every_place(client, as_reviewer):
    sample = SampleFactory(turn_id="t1", quality_score=0.5, quality_factors='{"conversationClarity": 0.5}')
    TurnSignals.objects.create(agent_id="ada", turn_id="t1", session_id="s1", turn_number=1, at=1, yes=ALL_BITS,
                               unknown=0, score=0, rule=1, mark=1)  # fmt: skip
    detail = as_reviewer.get(sample.get_absolute_url()).content.decode()
    filters = as_reviewer.get(reverse("datasets:sample_list")).content.decode()
    counts = {row["name"]: row["yes"] for row in read_receipt("quality")["signals"]}
    table = dict(re.findall(r"^\| `(\w+)` \| (`\w+` \| [\d.]+ \| .+) \|$", DOCS.read_text(), re.MULTILINE))
    lacking = []
    for signal in SIGNALS:
        listed = as_reviewer.get(reverse("datasets:sample_list"), {"signal": signal.name}).content.decode()
        places = {
            "page": str(signal.question) in detail,
            "choice of the filter": f'value="{signal.name}"' in filters,
            "filter": sample.id in listed,
            "counts": counts.get(signal.name) == 1,
            "docs/review.md": table.get(signal.name) == f"`{signal.factor}` | {signal.weight} | {signal.question}",
            "score": scores.compute_factors(1 << signal.bit, 0)[signal.factor] < 1,
        }
        lacking += [f"{signal.name}: {place}" for place, has_it in places.items() if not has_it]
    assert not lacking
    assert table.keys() >= BY_NAME.keys() and len({signal.bit for signal in SIGNALS}) == len(SIGNALS)


@given(BITS, BITS, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_a_score_is_within_its_factors_and_unknown_leaves_weights_out(yes, unknown, weights):
    factors = scores.compute_factors(yes & ~unknown, unknown)
    known = [value for value in factors.values() if value is not None]
    score = scores.compute_score(factors, dict(zip(FACTORS, weights, strict=True)))
    if score is None:
        assert not known or not any(weights)
    else:
        assert min(known) - 1e-4 <= score <= max(known) + 1e-4
    assert scores.compute_factors(yes & ~unknown & ~1, unknown | 1) == scores.compute_factors(
        (yes | 1) & ~(unknown | 1), unknown | 1
    )


CASES = [
    ("empty_reply", "", {}, "yes"),
    ("empty_reply", "There are 7.", {}, "no"),
    ("empty_reply", "Done.", {"question": "Delete the file"}, "no"),
    ("empty_reply", "Yes.", {"question": "Is it on Friday?"}, "no"),
    ("empty_reply", "Yes.", {"question": "When is it?"}, "yes"),
    ("cut_off", "There are 7 rows, and the", {}, "yes"),
    ("cut_off", "There are 7 rows.", {"stop": "aborted"}, "yes"),
    ("cut_off", "There are 7 rows.", {"stop": "length"}, "no"),
    ("cut_off", "There are 7 rows. " * 200, {"stop": "length"}, "yes"),
    ("other_language", "文件里一共有七行，都是昨天写的。", {}, "yes"),
    ("other_language", "文件里一共有七行。", {"question": "Translate to Chinese: the file has seven rows"}, "no"),
    ("repeated_call", "7", {"calls": [read_call(), read_call()]}, "yes"),
    ("repeated_call", "7", {"calls": [read_call(), read_call(name="write"), read_call()]}, "no"),
    ("silent_failures", "All is done.", {"calls": [read_call(is_failed=True), read_call("b", is_failed=True)]}, "yes"),
    ("silent_failures", "All is done.", {"calls": [read_call(is_failed=True)]}, "no"),
    ("silent_failures", "Both failed.", {"calls": [read_call(is_failed=True), read_call("b", is_failed=True)]}, "no"),
    ("number_without_source", "412 rows.", {"calls": [read_call(text="214 rows")]}, "yes"),
    ("number_without_source", "1,650 in all.", {"calls": [read_call(text="400\n625\n625")]}, "no"),
    ("number_without_source", "About 21 %.", {"calls": [read_call(text="214 of 1000")]}, "no"),
    ("number_without_source", "412 rows.", {"calls": [read_call(text="214")], "is_partial": True}, "unknown"),
    ("number_without_source", "412 rows.", {}, "unknown"),
    ("path_without_source", "It is in `b/c.csv`.", {"calls": [read_call()]}, "yes"),
    ("path_without_source", "It is in a.csv and MEMORY.md.", {"calls": [read_call()]}, "no"),
    ("other_person", "Hi Bob, 7.", {"senders": ["Ann"], "find_people": lambda _at: ["Bob"]}, "yes"),
    ("other_person", "Hi Ann, 7.", {"senders": ["Ann"], "find_people": lambda _at: ["Bob"]}, "no"),
    ("other_person", "Hi Bob, 7.", {}, "unknown"),
    ("machine_text", "<|im_start|>assistant\n7 rows", {}, "yes"),
    ("machine_text", '{"name": "read", "arguments": {"path": "a"}}', {}, "yes"),
    ("machine_text", "`<|im_end|>` ends a message.", {"question": "What is this token?"}, "no"),
    ("repeated_answer", "The file has seven rows, all of them from yesterday.",
     {"earlier": [TurnTexts(question="Who wrote it?", reply="The file has seven rows, all of them from yesterday.")]},
     "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reply", "more", "state"), CASES)
def test_cases(name, reply, more, state):
    answer = ask(name, reply, **more)
    assert answer.state == state
    assert bool(answer.place) is (state == "yes")


def test_a_reply_that_is_not_there_yet_is_asked_again():
    texts = TurnTexts("t1", question="How many?")
    assert all_signals.find_answers(texts)["empty_reply"].state == State.NOT_YET


def test_long_texts_are_read_in_part():
    texts = TurnTexts("t1")
    texts.set_reply("a" * 30_000 + "b" * 30_000)
    assert (len(texts.reply), texts.reply[0], texts.reply[-1]) == (20_000, "a", "b")
    assert (len(texts.cut("a" * 30_000)), texts.is_partial) == (20_000, True)
