"""TRL: its trainer with the rows that the card loads, and its conversion of conversations."""

import json

import pytest

from tests.consumers.consumer_exports import CONTEXTS, KINDS, assert_taught, find_kinds_for, read_export_rows

TAKEN = [kind for kind in find_kinds_for("trl") if kind.format != "openai"]
CONVERSATIONS = [kind for kind in KINDS if kind.format == "sharegpt"]


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("trl", "trl")["answers"][kind.name]
    assert_taught(read["learned"], folders[kind.name], last_only=kind.name in CONTEXTS)


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_rows_begin_with_their_system_prompts(kind, read_all, folders):
    texts = read_all("trl", "trl")["answers"][kind.name]["texts"]
    for text, row in zip(texts, read_export_rows(folders[kind.name]), strict=True):
        expected = f"<|im_start|>system\n{row['system']}<|im_end|>\n" if row["system"] else "<|im_start|>user\n"
        assert text.removeprefix(find_tools(text)).startswith(expected)


def find_tools(text):
    """The beginning of a text with its tools, if it has any."""
    is_with_tools = text.startswith("<|im_start|>tools\n")
    return text.partition("<|im_end|>\n")[0] + "<|im_end|>\n" if is_with_tools else ""


def test_rows_of_openai_have_their_system_prompts_and_tools(read_all, folders):
    texts = read_all("trl", "trl")["answers"]["openai"]["texts"]
    rows = read_export_rows(folders["openai"])
    assert {row["messages"][0]["role"] for row in rows} == {"system", "user"}
    for text, row in zip(texts, rows, strict=True):
        message = row["messages"][0]
        assert f"<|im_start|>{message['role']}\n{message['content']}" in text
        assert text.startswith("<|im_start|>tools") == ("tools" in row)


def test_messages_of_openai_are_learned_with_their_calls_as_objects(read_all, folders):
    learned = read_all("trl", "trl")["answers"]["openai"]["learned"]
    rows = read_export_rows(folders["openai"])
    assert len(learned) == len(rows) > 0
    for texts, row in zip(learned, rows, strict=True):
        messages = [message for message in row["messages"] if message["role"] == "assistant"]
        assert [parse_learned_text(text, message) for text, message in zip(texts, messages, strict=True)] == [
            *map(parse_message, messages)
        ]


def parse_learned_text(text, message):
    """The content and the calls of a learned text, parsed as this message's."""
    content = message.get("content", "").strip("\n")
    if not message.get("tool_calls"):
        return text, []
    assert text.startswith(content)
    return content, json.loads(text.removeprefix(content))


def parse_message(message):
    """The content of a message and its calls, with their arguments as objects."""
    calls = json.loads(json.dumps(message.get("tool_calls", [])))
    for call in calls:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message.get("content", "").strip("\n"), calls


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_it_keeps_the_names_of_roles_in_conversations(kind, read_all, folders):
    """No row is lost, but roles stay `human` and `gpt`, which chat templates do not know.

    So TRL needs rows with the roles of chat templates.
    """
    roles = read_all("trl", "trl")["answers"][kind.name]["roles"]
    assert roles == [[turn["from"] for turn in row["conversations"]] for row in read_export_rows(folders[kind.name])]
