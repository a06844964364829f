"""The command in a process of its own, whose first steps take longer than a search may."""

import subprocess
import sys

import orjson

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import ROOT, build_environment, run


def test_the_first_steps_of_a_process_take_no_time_from_its_search(tmp_path):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=1, turns=30, artifacts=0)
    assert run(home, "search", "rebuild")[0] == 0
    command = [sys.executable, "-m", "openclaw_web", "search", "find", "Answer", "--limit", "40", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=build_environment(home), capture_output=True)
    receipt = orjson.loads(done.stdout)
    assert (len(receipt["items"]), receipt["is_partial"]) == (30, False), done.stderr
