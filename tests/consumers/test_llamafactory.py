"""LLaMA-Factory: its loader, its converter and its tokenizing, with the files that lie beside the rows."""

import json
import shutil
from pathlib import Path

import pytest

from tests.consumers.exported import KINDS, assert_taught, rows_of

TAKEN = [kind for kind in KINDS if "llamafactory" in kind.readers]


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned(kind, read_all, folders):
    read = read_all("llamafactory", "llamafactory")["answers"][kind.name]
    # It does not read `train`: with `mask_history` of llamafactory.yaml it learns the last reply of a row.
    assert_taught(read.get("learned", read), folders[kind.name], last_only=kind.name == "sharegpt-context")


def test_a_row_that_it_drops_is_noticed(folders, hand_over, tmp_path):
    broken = Path(shutil.copytree(folders["sharegpt-edited"], tmp_path / "broken"))
    first, *others = rows_of(broken)
    first["conversations"].pop()
    text = "".join(json.dumps(row) + "\n" for row in [first, *others])
    [file] = broken.glob("*.train.jsonl")
    file.write_text(text)
    learned = hand_over("llamafactory", "llamafactory", {"broken": str(broken)})["answers"]["broken"]["learned"]
    assert len(learned) == len(others)
    with pytest.raises(AssertionError):
        assert_taught(learned, broken)
