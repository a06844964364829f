"""Unsloth's `standardize_sharegpt`: conversations of two keys, without tools."""

import pytest

from tests.consumers.consumer_exports import KINDS, read_export_rows

ROLES = {"human": "user", "gpt": "assistant", "system": "system"}
CONVERSATIONS = [kind for kind in KINDS if kind.format == "sharegpt"]


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_it_takes_what_it_can(kind, read_all, folders):
    read = read_all("unsloth", "unsloth")["answers"][kind.name]
    if "unsloth" not in kind.readers:
        assert "not in aliases" in read["refused"] or "non text" in read["refused"]
        return
    conversations = [row["conversations"] for row in read_export_rows(folders[kind.name])]
    assert read["conversations"] == [
        [{"role": ROLES[turn["from"]], "content": turn["value"]} for turn in row] for row in conversations
    ]
