"""The training formats, loaded with HF `datasets`, the library that every trainer uses.

Without a network.
"""

import os
import subprocess
import sys

import orjson
import pytest

from datasets.exports import exports
from datasets.exports.files import PIECE
from datasets.exports.formats import COLUMNS, FORMATS
from tests.datasets.conversations import store_turns
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import build_export
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
LOAD = """
import json, sys
from datasets import load_dataset
answers = {}
for name, file in json.loads(sys.argv[1]).items():
    rows = load_dataset("json", data_files=file, split="train")
    answers[name] = {"rows": rows.num_rows, "features": {key: str(rows.features[key]) for key in rows.features},
                     "first": rows[0], "last": rows[-1]}
print(json.dumps(answers))
"""
# Longer than one piece: a loader that met other columns or types in the second one would stop.
ROWS, WIDTH = 400, 32_000


@pytest.fixture
def files(own_home):
    """The training files of all formats and tasks, by name."""
    store_turns(2)
    for number in range(1, ROWS + 1):
        gate = {
            "output": {"decision": "UPDATE_USER", "reason": "r", "candidateFact": "2026-01-31" if number < 3 else ""}
        }
        content = body(number, agentReply="2026-01-31" if number == 1 else "回答 " + "a" * WIDTH, memoryGate=gate)
        SampleFactory(
            id=f"x{number}", session_id="s1", turn_number=number, content=content, annotation_status="approved"
        )
    paths = {}
    for format_ in sorted(
        COLUMNS.keys() - {"parquet", *(name for name, facts in FORMATS.items() if facts.answers)}
    ):  # see tests/datasets/exporters
        for task in ("reply", "gate"):
            folder = exports.folder_of(build_export(format_, task))
            paths[f"{format_} {task}"] = str(folder / f"ocl_one_{format_}.train.jsonl")
    return paths


def test_trainers_can_load_them(files, tmp_path):
    assert max(os.path.getsize(file) for file in files.values()) > PIECE
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "PYTHONWARNINGS": "ignore"}
    environment.pop("PYTHONDEVMODE", None)
    # -P and another folder: `datasets` is the library there, not the app.
    command = [sys.executable, "-P", "-c", LOAD, orjson.dumps(files).decode()]
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-2_000:]
    loaded = orjson.loads(answer.stdout)
    assert loaded.keys() == files.keys()
    for name, summary in loaded.items():
        assert summary["rows"] == ROWS
        with open(files[name], "rb") as file:
            lines = file.readlines()
        assert (summary["first"], summary["last"]) == (orjson.loads(lines[0]), orjson.loads(lines[-1]))
        assert all("string" in feature for feature in summary["features"].values()), summary["features"]
