"""HF `datasets`, which every trainer reads files with: what is in the file is what it hands out."""

import json

import pytest

from tests.consumers.consumer_exports import KINDS, rows_of, taken_by

VERSIONS = ("datasets-4", "datasets-5")
TAKEN = taken_by("datasets")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("environment", VERSIONS)
def test_load_py_counts_the_rows(environment, kind, read_all, folders):
    read = read_all(environment, "datasets")["answers"][kind.name]
    assert read["printed"] == f"train: {len(rows_of(folders[kind.name]))} rows\n"


@pytest.mark.parametrize("environment", VERSIONS)
def test_rows_of_openai_are_handed_out_as_they_are_but_for_nulls(environment, read_all, folders):
    read = read_all(environment, "datasets")["answers"]["openai"]
    assert [without_nulls(row) for row in read["rows"]] == rows_of(folders["openai"])
    assert {bool(row["tools"]) for row in read["rows"]} == {True, False}


def without_nulls(row):
    """A row of OpenAI's format as its file has it: the keys that a message has, tools as a list, not as a text."""
    said = [{key: value for key, value in message.items() if value is not None} for message in row["messages"]]
    tools = json.loads(row["tools"]) if isinstance(row["tools"], str) else row["tools"]
    return {"messages": said} | ({"tools": tools} if tools else {})


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
@pytest.mark.parametrize("environment", VERSIONS)
def test_rows_are_handed_out_as_they_are_and_texts_are_texts(environment, kind, read_all, folders):
    read = read_all(environment, "datasets")["answers"][kind.name]
    assert read["rows"] == rows_of(folders[kind.name])
    columns = read["columns"]
    assert columns.pop("conversations", "") != "Value('string')"
    assert set(columns.values()) == {"Value('string')"}
