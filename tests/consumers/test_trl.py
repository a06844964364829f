"""TRL: its trainer, with the rows as `load.py` gives them to it, and its own conversion of conversations."""

import json

import pytest

from tests.consumers.consumer_exports import KINDS, assert_taught, rows_of, taken_by

TAKEN = [kind for kind in taken_by("trl") if kind.format != "openai"]
CONVERSATIONS = [kind for kind in KINDS if kind.format == "sharegpt"]


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("trl", "trl")["answers"][kind.name]
    assert_taught(read["learned"], folders[kind.name], last_only=kind.name == "sharegpt-context")


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_rows_begin_with_their_system_prompts(kind, read_all, folders):
    texts = read_all("trl", "trl")["answers"][kind.name]["texts"]
    for text, row in zip(texts, rows_of(folders[kind.name]), strict=True):
        wanted = f"<|im_start|>system\n{row['system']}<|im_end|>\n" if row["system"] else "<|im_start|>user\n"
        assert text.startswith(wanted)


def test_rows_of_openai_have_their_system_prompts_and_tools(read_all, folders):
    texts = read_all("trl", "trl")["answers"]["openai"]["texts"]
    rows = rows_of(folders["openai"])
    assert {row["messages"][0]["role"] for row in rows} == {"system", "user"}
    for text, row in zip(texts, rows, strict=True):
        said = row["messages"][0]
        assert f"<|im_start|>{said['role']}\n{said['content']}" in text
        assert text.startswith("<|im_start|>tools") == ("tools" in row)


def test_messages_of_openai_are_learned_with_their_calls_as_objects(read_all, folders):
    learned = read_all("trl", "trl")["answers"]["openai"]["learned"]
    rows = rows_of(folders["openai"])
    assert len(learned) == len(rows) > 0
    for texts, row in zip(learned, rows, strict=True):
        said = [message for message in row["messages"] if message["role"] == "assistant"]
        assert [told(text, message) for text, message in zip(texts, said, strict=True)] == [*map(meant, said)]


def told(text, message):
    """A text that is learned, read as this message: what is said, and the calls with their arguments as objects."""
    content = message.get("content", "").strip("\n")
    if not message.get("tool_calls"):
        return text, []
    assert text.startswith(content)
    return content, json.loads(text.removeprefix(content))


def meant(message):
    """What a message says, and its calls with their arguments as objects."""
    calls = json.loads(json.dumps(message.get("tool_calls", [])))
    for call in calls:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message.get("content", "").strip("\n"), calls


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_it_keeps_the_names_of_roles_in_conversations(kind, read_all, folders):
    """No row is lost, and chat templates get `human` and `gpt`, which they do not know: it needs rows with roles."""
    roles = read_all("trl", "trl")["answers"][kind.name]["roles"]
    assert roles == [[one["from"] for one in row["conversations"]] for row in rows_of(folders[kind.name])]
