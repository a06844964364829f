"""Unsloth's `standardize_sharegpt`: conversations of two keys, without tools."""

import pytest

from tests.consumers.consumer_exports import KINDS, rows_of

ROLES = {"human": "user", "gpt": "assistant", "system": "system"}
CONVERSATIONS = [kind for kind in KINDS if kind.format == "sharegpt"]


@pytest.mark.parametrize("kind", CONVERSATIONS, ids=lambda kind: kind.name)
def test_it_takes_what_it_can(kind, read_all, folders):
    read = read_all("unsloth", "unsloth")["answers"][kind.name]
    if "unsloth" not in kind.readers:
        assert "not in aliases" in read["refused"] or "non text" in read["refused"]
        return
    said = [row["conversations"] for row in rows_of(folders[kind.name])]
    assert read["conversations"] == [
        [{"role": ROLES[one["from"]], "content": one["value"]} for one in row] for row in said
    ]
