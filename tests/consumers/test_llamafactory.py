"""LLaMA-Factory: its loader, its converter and its tokenizing, with the files that lie beside the rows."""

import json
import shutil
from pathlib import Path

import pytest

from tests.consumers.consumer_exports import OTHER_TOOL, TOOL, assert_taught, file_of, rows_of, taken_by

TAKEN = taken_by("llamafactory")


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("llamafactory", "llamafactory")["answers"][kind.name]
    # It does not read `train`: with `mask_history` of llamafactory.yaml it learns the last reply of a row.
    assert_taught(read["learned"], folders[kind.name], last_only=kind.name == "sharegpt-context")


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_what_the_model_was_given_is_read(kind, read_all, folders):
    texts = read_all("llamafactory", "llamafactory")["answers"][kind.name]["texts"]
    for text, row in zip(texts, rows_of(folders[kind.name]), strict=True):
        assert row.get("system", "").strip() in text
        described = [tool["function"]["description"] for tool in json.loads(row.get("tools", "[]"))]
        assert [tool["description"] for tool in (TOOL, OTHER_TOOL) if tool["description"] in text] == described


def test_one_call_a_message_is_for_templates_that_stop_at_a_list(folders, hand_over):
    for name, is_read in (("sharegpt-split", True), ("sharegpt-edited", False)):
        read = hand_over("llamafactory", "llamafactory", {name: folders[name]}, "glm4")["answers"][name]
        assert ("refused" not in read and len(read["learned"]) == len(rows_of(folders[name]))) == is_read


def test_a_row_that_it_drops_is_noticed(folders, hand_over, tmp_path):
    broken = Path(shutil.copytree(folders["sharegpt-edited"], tmp_path / "broken"))
    first, *others = rows_of(broken)
    first["conversations"].pop()
    text = "".join(json.dumps(row) + "\n" for row in [first, *others])
    file_of(broken).write_text(text)
    learned = hand_over("llamafactory", "llamafactory", {"broken": str(broken)})["answers"]["broken"]["learned"]
    assert len(learned) == len(others)
    with pytest.raises(AssertionError):
        assert_taught(learned, broken)
