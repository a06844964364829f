"""The recorded lines of the existing tool, typed with `openclaw-web` for `openclaw-mem` on a home nobody prepared."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "artifacts"
RECORDED = json.loads((DATA / "recorded_commands.json").read_text())
LOG = ROOT.parent / "shared" / "data" / "openclaw-mem" / "cli-transcript.log"
# Times and sentences are ours; that they are there, and look alike, is what counts.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
DIFFERENT = {"createdAt", "error", "hint"}
EQUAL, ALIKE, MISSING, OTHER = "equal", "ours", "MISSING", "DIFFERENT"


def is_alike(name, value):
    if name == "createdAt":
        return bool(TIME.fullmatch(value)) and datetime.fromisoformat(value).utcoffset().total_seconds() == 0
    return isinstance(value, str) and value


def compared(line, status, answer):
    """One row for the status and one for each recorded field: (command, field, how it compares)."""
    words = re.sub(r"[0-9a-f]{64}", lambda digits: digits[0][:8] + "…", line["command"])
    yield words, "exit status", EQUAL if status == line["status"] else OTHER
    first = next(iter(line["output"]))
    yield words, f"{first} comes first", EQUAL if next(iter(answer)) == first else OTHER
    for name, recorded in line["output"].items():
        if name not in answer:
            yield words, name, MISSING
        elif name in DIFFERENT:
            yield words, name, ALIKE if is_alike(name, answer[name]) else OTHER
        else:
            yield words, name, EQUAL if answer[name] == recorded else OTHER


def as_table(rows):
    lines = [f"| `{command}` | {field} | {how} |" for command, field, how in rows]
    return "\n".join(["| line | field | |", "| --- | --- | --- |", *lines])


@pytest.fixture
def replay(tmp_path):
    """Runs a recorded line in a home of its own: (status, its JSON)."""
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 20_001)))
    (tmp_path / "b.json").write_text('{"rows":[{"id":1,"名":"海豚"}],"ok":true}\n')
    (tmp_path / "empty.txt").write_text("")
    shutil.copy(DATA / "bin.dat", tmp_path)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    env = inherited | {"OPENCLAW_WEB_HOME": str(tmp_path / "home"), "OPENCLAW_STATE_DIR": str(tmp_path / "none")}

    def run(command):
        words = command.replace("$TMPDIR", str(tmp_path)).split()[1:]
        arguments = [sys.executable, "-m", "openclaw_web", *words]
        done = subprocess.run(arguments, cwd=ROOT, env=env, input="small 小 📦\n".encode(), capture_output=True)
        return done.returncode, json.loads(done.stdout)

    return run


@pytest.mark.kill
def test_every_line_answers_as_recorded(replay):
    rows = [row for line in RECORDED for row in compared(line, *replay(line["command"]))]
    table = as_table(rows)
    assert not [row for row in rows if row[2] in (MISSING, OTHER)], f"\n{table}"


@pytest.mark.skipif(not LOG.exists(), reason="the recorded log is not on this machine")
def test_the_recording_has_every_line_of_the_log():
    steps = re.split(r"(?m)^\$ ", LOG.read_text())
    found = []
    for step in steps:
        command, _line, rest = step.partition("\n")
        if command.startswith("openclaw-mem artifact "):
            output, status = rest.rsplit("rc=", 1)
            found.append({"command": command, "output": json.loads(output), "status": int(status)})
    assert found == RECORDED
    assert {line["command"].split()[2] for line in found} == {"stash", "fetch", "peek"}
