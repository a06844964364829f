"""Transcripts that look like markup of a trainer stay text, and their control tokens are reported."""

import re
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports.exchanges import CONTROL_TOKENS, scan_texts
from datasets.exports.words import CHANGES
from tests.datasets.exports.branches import agent, body, gate, result, rows, sample, sides, user, values
from tests.datasets.exports.export_helpers import build_export, make_export, read_rows
from tests.factories import SampleFactory

MARKERS = [
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "[INST]", "[/INST]"),
    *("<<SYS>>", "<s>", "</s>", "<start_of_turn>", "<|assistant|>", "<|user|>", "<|system|>", "<|observation|>"),
    *("[gMASK]", "<think>"),
]
CALL = '{"name":"exec","arguments":{"command":"rm -rf /"}}'


def test_it_works():
    branch = [user("What is <|im_start|>system?", 1), agent("", "c"), result("c", "</s> [INST]"), agent("A marker.")]
    (row,), (done,) = rows("sharegpt", sample(1, "What is <|im_start|>system?", "A marker."), branch=branch)
    assert values(row)[0] == "What is <|im_start|>system?" and values(row)[2] == "</s> [INST]"
    assert row["control_tokens"] == "</s> <|im_start|> [INST]"
    assert done == {"control_tokens"}


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_every_marker_stays_and_is_said(marker, format_):
    (row,), (done,) = rows(format_, sample(1, f"What is{marker}here?", f"{marker} is text"))
    text = orjson.dumps(row).decode()
    assert text.count(marker) == 3 and row["control_tokens"] == marker and "control_tokens" in done
    (row,), (done,) = rows(format_, sample(1, f"What is{marker}here?", "x", gate=gate()), task="gate")
    assert row["control_tokens"] == marker and "control_tokens" in done


def test_they_are_counted_once_for_every_row_they_are_in():
    branch = [user("a <s>", 1), agent("1"), user("b", 2), agent("2"), user("c [INST]", 3), agent("3")]
    samples = [sample(1, "a <s>", "1"), sample(2, "b", "2"), sample(3, "c [INST]", "3")]
    for history, expected in (("edited", ["<s>", "<s>", "<s> [INST]"]), ("session", ["<s> [INST]"])):
        made, done = rows("sharegpt", *samples, branch=branch, history=history)
        assert [row["control_tokens"] for row in made] == expected
        assert all("control_tokens" in row_changes for row_changes in done)


def test_ordinary_text_has_none():
    text = "a < b [1] <b>bold</b> | INST <i> x<y> [inst] <|> <||> <|not one|>"
    (row,), (done,) = rows("sharegpt", sample(1, text, text), branch=[user(text, 1), agent(text)])
    assert row["control_tokens"] == "" and done == set()


@pytest.mark.parametrize("words", [CALL, f"[{CALL}]", "gpt: yes", "function_call: x", '{"from":"gpt","value":"x"}'])
def test_words_that_look_like_a_call_or_a_side_stay_with_who_said_them(words):
    branch = [user(words, 1), agent("", "c"), result("c", words), agent(words), user(words, 2), agent(words)]
    samples = [sample(1, words, words), sample(2, words, words)]
    made, done = rows("sharegpt", *samples, branch=branch)
    assert sides(made[1]) == ["human", "function_call", "observation", "gpt", "human", "gpt"]
    assert values(made[1]) == [words, values(made[1])[1], words, words, words, words]
    assert done == [set(), set()]
    made, _ = rows("alpaca", samples[0])
    assert (made[0]["instruction"], made[0]["output"]) == (words, words)


def test_a_line_of_a_megabyte_is_text_like_any_other():
    line = "<|" * 300_000 + "[INST" * 80_000 + "<|im_end|>"
    started = time.monotonic()
    (row,), (done,) = rows("sharegpt", sample(1, "question", line), branch=[user("question", 1), agent(line)])
    assert values(row)[-1] == line and len(line) > 1_000_000
    assert row["control_tokens"] == "<|im_end|>" and done == {"control_tokens", "over_the_budget"}
    branch = [user("question", 1), agent("", "c"), result("c", line), agent("answer")]
    (row,), (done,) = rows("sharegpt", sample(), branch=branch)
    assert sum(map(len, values(row))) <= 32_000 and done == {"tool_results_shortened"}
    assert time.monotonic() - started < 5


@given(st.lists(st.sampled_from(CONTROL_TOKENS) | st.text(st.characters(codec=None), max_size=8), max_size=10))
def test_what_is_said_is_what_is_there(parts):
    text = "".join(parts)
    expected = set(re.findall("|".join(map(re.escape, CONTROL_TOKENS)), text))
    assert scan_texts([text]) == expected
    assert all(" " not in token for token in CONTROL_TOKENS)


@pytest.mark.django_db
@pytest.mark.usefixtures("ada")
def test_the_manifest_and_the_page_count_them(as_reviewer, settings, tmp_path):
    settings.HOME_DIR = tmp_path
    SampleFactory(annotation_status="approved", content=body(1, agentReply="It ends with </s>."))
    SampleFactory(annotation_status="approved", content=body(2), turn_number=2)
    export = make_export(as_reviewer, name="one")
    assert export.manifest["transformations"] == {"control_tokens": 1}
    page = as_reviewer.get(export.get_absolute_url()).text
    assert str(CHANGES["control_tokens"]) in page
    read = read_rows(build_export(name="two"))
    assert [row["control_tokens"] for row in read] == ["</s>", ""]
    assert len({tuple(row) for row in read}) == 1
