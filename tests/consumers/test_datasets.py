"""HF `datasets`, the loader of every trainer, returns the rows of the file."""

import json

import pytest

from tests.consumers.consumer_exports import KINDS, find_kinds_for, read_export_rows

VERSIONS = ("datasets-4", "datasets-5")
TAKEN = find_kinds_for("datasets")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_row_is_loaded(kind, read_all, folders):
    read = read_all("datasets-5", "datasets")["answers"][kind.name]
    assert len(read["rows"]) == len(read_export_rows(folders[kind.name]))


def test_rows_of_openai_are_handed_out_as_they_are_but_for_nulls(read_all, folders):
    read = read_all("datasets-5", "datasets")["answers"]["openai"]
    assert [remove_nulls(row) for row in read["rows"]] == read_export_rows(folders["openai"])
    assert all(row["tools"] for row in read["rows"])


def remove_nulls(row):
    """A row of OpenAI's format as its file has it.

    Messages have only the keys of the file, and tools are a list, not a text.
    """
    messages = [{key: value for key, value in message.items() if value is not None} for message in row["messages"]]
    tools = json.loads(row["tools"]) if isinstance(row["tools"], str) else row["tools"]
    return {"messages": messages} | ({"tools": tools} if tools else {})


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
@pytest.mark.parametrize("environment", VERSIONS)
def test_rows_are_handed_out_as_they_are_and_texts_are_texts(environment, kind, read_all, folders):
    read = read_all(environment, "datasets")["answers"][kind.name]
    assert read["rows"] == read_export_rows(folders[kind.name])
    columns = read["columns"]
    assert columns.pop("conversations", "") != "Value('string')"
    assert set(columns.values()) == {"Value('string')"}
