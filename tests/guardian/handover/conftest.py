import json
import stat
import sys
from pathlib import Path

import pytest

from people.configuration import setting_values as configuration
from tests.guardian.rollbacks.workspaces import allow_writes
from tests.guardian.standing.recorded_homes import RecordedHome


class Command:
    """The scripted command: its behaviour, and how it was started."""

    def __init__(self, folder: Path):
        self.path = folder / "openclaw.py"
        program = (Path(__file__).parent / "scripted_openclaw.py").read_text()
        self.path.write_text(f"#!{sys.executable}\n{program}")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.does("obeys")

    def does(self, behaviour, **more):
        self.path.with_suffix(".json").write_text(json.dumps({"does": behaviour} | more))

    @property
    def starts(self):
        log = self.path.with_suffix(".log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def home(ada, settings, tmp_path, monkeypatch):
    """The home of ada, whose MEMORY.md has a record; this site may write to it.

    Rollbacks do not wait for late writers.
    """
    home = RecordedHome(tmp_path.resolve() / "openclaw", ("ada",))
    ada.workspace = str(home.workspace("ada"))
    allow_writes(ada, settings, tmp_path, monkeypatch, "ada")
    return home


@pytest.fixture
def command(home, settings, tmp_path):
    """The scripted command, which may be started."""
    command = Command(tmp_path)
    settings.OPENCLAW_COMMAND = str(command.path)
    configuration.put("writeGuardian.handOver", True)
    return command
