"""TRL: its conversion to role and content, and its trainer for rows that have them."""

import json

import pytest

from tests.consumers.exported import KINDS, assert_taught, rows_of

TAKEN = [kind for kind in KINDS if "trl" in kind.readers]
CONVERSATIONS = [kind for kind in KINDS if kind.format == "sharegpt"]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "exec", "arguments": '{"command": "ls"}'}}]
MESSAGES = [
    {"role": "user", "content": "How full is the disk? 磁盘"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "content": "25G", "tool_call_id": "c1"},
    {"role": "assistant", "content": "A tenth of it. 👍🏽"},
]


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("trl", "trl")["answers"][kind.name]
    assert_taught(read["learned"], folders[kind.name])


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_it_keeps_the_names_of_roles_in_conversations(kind, read_all, folders):
    """No row is lost, and chat templates get `human` and `gpt`, which they do not know: it needs rows with roles."""
    roles = read_all("trl", "trl")["answers"][kind.name]["roles"]
    assert roles == [[one["from"] for one in row["conversations"]] for row in rows_of(folders[kind.name])]


def test_rows_with_roles_are_learned(hand_over, tmp_path):
    rows = [
        {
            "messages": [
                message | {"content": message["content"] and f"{message['content']} {n}"} for message in MESSAGES
            ],
            "tools": "[]",
        }
        for n in range(12)
    ]
    (tmp_path / "messages.train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = hand_over("trl", "trl", {"messages": str(tmp_path)})["answers"]["messages"]
    assert [row[-1] for row in read["learned"]] == [f"A tenth of it. 👍🏽 {n}" for n in range(12)]
    assert all(len(row) == 2 and "exec" in row[0] for row in read["learned"])
