"""Programs that train models, each in an environment of its own (`./dev consumers`), and what they made of exports."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.consumers.consumer_exports import KINDS, write_everything

READERS = Path(__file__).parent / "readers"
ASKED_FOR_ALL = ("datasets", "unsloth")  # also what they do not take as it is
PLACE = os.environ.get("CONSUMERS", "")


def pytest_collection_modifyitems(items):
    """Nothing here runs unless somebody asks for it: the programs need gigabytes."""
    for item in items:
        if READERS.parent in item.path.parents:
            item.add_marker(pytest.mark.consumers)
            item.add_marker(pytest.mark.django_db)
            item.add_marker(pytest.mark.skipif(not PLACE, reason="./dev consumers installs the programs and runs this"))


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """What was made once for all tests: a place for files, the folders of exports, the answers of readers."""
    return {"place": tmp_path_factory.mktemp("consumers"), "folders": {}, "answers": {}}


@pytest.fixture
def folders(kept, settings, ada, bob):
    """The folder of an export of each kind, by name."""
    if not kept["folders"]:
        settings.HOME_DIR = kept["place"]
        kept["folders"] = write_everything(ada, bob, kept["place"])
    return kept["folders"]


@pytest.fixture
def hand_over(tmp_path):
    """A function that gives folders to a program: `environment` is its folder, `reader` a script of ours.

    `more` are further arguments of the script.
    """

    def give(environment, reader, given, *more):
        python = Path(PLACE, environment, "bin", "python")
        offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "TOKENIZERS_PARALLELISM": "false"}
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO"))}
        command = [python, READERS / f"read_{reader}.py", json.dumps(given), *more]
        answer = subprocess.run(
            command, cwd=tmp_path, env={**known, **offline}, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr[-4_000:]
        return json.loads(answer.stdout.splitlines()[-1])

    return give


@pytest.fixture
def read_all(kept, folders, hand_over):
    """A function: the kinds of exports that a program takes, read by it once for all tests."""

    def read(environment, reader):
        if environment not in kept["answers"]:
            given = [kind.name for kind in KINDS if reader in (*kind.readers, *ASKED_FOR_ALL)]
            kept["answers"][environment] = hand_over(environment, reader, {name: folders[name] for name in given})
        return kept["answers"][environment]

    return read
