"""Runs the programs that train models on our exports, each in its own environment.

`./dev consumers` installs them.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.consumers.consumer_exports import KINDS, write_everything

READERS = Path(__file__).parent / "readers"
PLAIN = ("alpaca", "sharegpt", "sharegpt_reflection", "llamafactory_preference", "parquet")
FORMATS = {kind.format for kind in KINDS}
PLACE = os.environ.get("CONSUMERS", "")


def pytest_collection_modifyitems(items):
    """Skip these tests unless ./dev consumers runs them: the programs need gigabytes."""
    for item in items:
        if READERS.parent in item.path.parents:
            item.add_marker(pytest.mark.consumers)
            item.add_marker(pytest.mark.django_db)
            item.add_marker(pytest.mark.skipif(not PLACE, reason="./dev consumers installs the programs and runs this"))


@pytest.fixture(scope="session")
def shared_results(tmp_path_factory):
    """Results that all tests share: a folder, the exports' folders, the readers' answers."""
    return {"place": tmp_path_factory.mktemp("consumers"), "folders": {}, "answers": {}}


@pytest.fixture
def folders(shared_results, settings, ada, bob):
    """The folder of an export of each kind, by name."""
    if not shared_results["folders"]:
        settings.HOME_DIR = shared_results["place"]
        (settings.HOME_DIR / "state").mkdir()
        shared_results["folders"] = write_everything(ada, bob, shared_results["place"])
    return shared_results["folders"]


@pytest.fixture
def hand_over(tmp_path):
    """A function that gives folders to a program and returns what its reader printed.

    `environment` is the program's folder, `reader` a script of ours. `more` are further arguments of the script.
    """

    def give(environment, reader, folders_by_name, *more):
        python = Path(PLACE, environment, "bin", "python")
        offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "TOKENIZERS_PARALLELISM": "false"}
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO"))}
        command = [python, READERS / f"read_{reader}.py", json.dumps(folders_by_name), *more]
        answer = subprocess.run(
            command, cwd=tmp_path, env={**known, **offline}, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr[-4_000:]
        return json.loads(answer.stdout.splitlines()[-1])

    return give


@pytest.fixture
def read_all(shared_results, folders, hand_over):
    """A function that has a program read all exports that it takes, once for all tests."""

    def read(environment, reader):
        if environment not in shared_results["answers"]:
            is_old = environment == "datasets-4"  # the oldest that LLaMA-Factory takes; it has no type for messages
            # Two of them also read exports that they do not take unchanged.
            formats = {"datasets": PLAIN if is_old else FORMATS, "unsloth": ("sharegpt",)}.get(reader, ())
            given = [kind.name for kind in KINDS if reader in kind.readers or kind.format in formats]
            shared_results["answers"][environment] = hand_over(
                environment, reader, {name: folders[name] for name in given}
            )
        return shared_results["answers"][environment]

    return read
