"""Preference pairs and KTO: the trainers of TRL and LLaMA-Factory take every row."""

import json

import pytest

from tests.consumers.consumer_exports import find_kinds_for, read_export_rows

TRL = [*find_kinds_for("trl-dpo"), *find_kinds_for("trl-kto")]
COLUMNS = ("prompt", "chosen", "rejected", "completion", "label", "tools")


@pytest.mark.parametrize("kind", TRL, ids=lambda kind: kind.name)
def test_trl_prepares_every_row(kind, folders, hand_over):
    read = hand_over("trl", "judged", {kind.name: folders[kind.name]})["answers"][kind.name]
    rows = read_export_rows(folders[kind.name])
    assert read["rows"] == [{name: row[name] for name in COLUMNS if name in row} for row in rows]
    assert read["prepared"] == len(rows) > 0
    if labels := [row["label"] for row in rows if "label" in row]:
        good, bad = labels.count(True), labels.count(False)
        weights = read["weights"]
        assert weights["desirable_weight"] * good == pytest.approx(weights["undesirable_weight"] * bad, rel=0.01)
    for text, row in zip(read["prompts"], rows, strict=True):
        assert row["prompt"][-1]["content"].strip() in text


@pytest.mark.parametrize("kind", find_kinds_for("llamafactory-dpo"), ids=lambda kind: kind.name)
def test_llamafactory_prepares_every_pair(kind, folders, hand_over):
    read = hand_over("llamafactory", "llamafactory", {kind.name: folders[kind.name]})["answers"][kind.name]
    rows = read_export_rows(folders[kind.name])
    assert len(rows) > 0
    assert read["pairs"] == [[row["chosen"]["value"], row["rejected"]["value"]] for row in rows]


def test_openai_pairs_are_loaded_as_they_are(read_all, folders):
    read = read_all("datasets-5", "datasets")["answers"]["openai-preference"]["rows"]
    parsed = [row | {"input": parse(row["input"])} for row in read]
    rows = read_export_rows(folders["openai-preference"])
    keys = ("preferred_output", "non_preferred_output")
    assert [row["input"] for row in parsed] == [row["input"] for row in rows]
    assert [[row[key][0]["content"] for key in keys] for row in parsed] == [
        [row[key][0]["content"] for key in keys] for row in rows
    ]


def parse(value):
    """A value that a version of `datasets` without a type for JSON has as a text."""
    return json.loads(value) if isinstance(value, str) else value
