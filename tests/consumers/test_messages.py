"""Messages: `datasets` loads them as the card says, and the chat templates of vendors render calls as calls."""

import json

import pytest

from tests.consumers.consumer_exports import read_export_rows, restore_row

KINDS = ("messages", "messages-context", "messages-gate", "parquet", "preference", "kto")
# Templates of Alibaba, Meta and Zhipu, as TRL's package has them, with what stands before the arguments of a call.
VENDORS = {
    "qwen2_5": '<tool_call>\n{"name": "%s", "arguments": ',
    "qwen3": '<tool_call>\n{"name": "%s", "arguments": ',
    "llama3_1": '{"name": "%s", "parameters": ',
    "glm4moe": "<tool_call>%s",
}
ONE_CALL = frozenset({"llama3_1"})  # refuses several calls in one message


@pytest.mark.parametrize("name", KINDS)
def test_the_rows_of_the_file_are_loaded(name, read_all, folders):
    read = read_all("datasets-5", "datasets")["answers"][name]["rows"]
    assert [restore_row(row) for row in read] == read_export_rows(folders[name])


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("name", ["messages", "parquet", "sharegpt-edited"])
def test_calls_are_rendered_as_calls(name, vendor, folders, hand_over):
    rendered = hand_over("trl", "templates", {name: folders[name]}, vendor)["answers"][name][vendor]
    calls = [list(find_calls(row)) for row in read_export_rows(folders[name])]
    assert len(rendered) == len(calls) and any(calls)
    for text, called in zip(rendered, calls, strict=True):
        if vendor in ONE_CALL and any(len(message) > 1 for message in called):
            assert "refused: " in text and "single tool-calls" in text
            continue
        assert not text.startswith("refused: "), text
        for function in (function for message in called for function in message):
            _before, begin, rest = text.partition(VENDORS[vendor] % function["name"])
            assert begin
            if vendor == "glm4moe":  # an argument after the other
                assert all(f"<arg_key>{name}</arg_key>" in rest for name in function["arguments"])
            else:
                assert json.dumps(function["arguments"], ensure_ascii=False) in rest


def find_calls(row):
    """The functions that each message of a row calls."""
    for message in row.get("messages", ()):
        if "tool_calls" in message:
            yield [call["function"] for call in message["tool_calls"]]
    for message in row.get("conversations", ()):
        if message["from"] == "function_call":
            calls = json.loads(message["value"])
            yield calls if isinstance(calls, list) else [calls]
