"""LLaMA-Factory: its loader, converter and tokenizer, with the settings of the card."""

import json
import shutil
from pathlib import Path

import pytest

from tests.consumers.consumer_exports import (
    OTHER_TOOL,
    TOOL,
    assert_taught,
    find_kinds_for,
    find_rows_file,
    read_export_rows,
)

TAKEN = find_kinds_for("llamafactory")


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("llamafactory", "llamafactory")["answers"][kind.name]
    # It does not read `train`: with `mask_history` of the card it learns the last reply of a row.
    assert_taught(read["learned"], folders[kind.name], last_only=kind.name == "sharegpt-context")


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_what_the_model_was_given_is_read(kind, read_all, folders):
    texts = read_all("llamafactory", "llamafactory")["answers"][kind.name]["texts"]
    for text, row in zip(texts, read_export_rows(folders[kind.name]), strict=True):
        assert row.get("system", "").strip() in text
        tools = [tool["function"]["description"] for tool in json.loads(row.get("tools", "[]"))]
        described = list(filter(None, tools))  # those inferred from calls have none
        assert [tool["description"] for tool in (TOOL, OTHER_TOOL) if tool["description"] in text] == described


def test_one_call_a_message_is_for_templates_that_stop_at_a_list(folders, hand_over):
    for name, is_read in (("sharegpt-split", True), ("sharegpt-edited", False)):
        read = hand_over("llamafactory", "llamafactory", {name: folders[name]}, "glm4")["answers"][name]
        assert ("refused" not in read and len(read["learned"]) == len(read_export_rows(folders[name]))) == is_read


def test_a_row_that_it_drops_is_noticed(folders, hand_over, tmp_path):
    broken = Path(shutil.copytree(folders["sharegpt-edited"], tmp_path / "broken"))
    first, *others = read_export_rows(broken)
    first["conversations"].pop()
    text = "".join(json.dumps(row) + "\n" for row in [first, *others])
    find_rows_file(broken).write_text(text)
    learned = hand_over("llamafactory", "llamafactory", {"broken": str(broken)})["answers"]["broken"]["learned"]
    assert len(learned) == len(others)
    with pytest.raises(AssertionError):
        assert_taught(learned, broken)
