"""Recorded lines of `openclaw-mem episodes` (2.0.0), run again with `openclaw-web` and compared field by field.

A difference that is meant has a row in DIFFERENCES, with its reason; every row has to occur.
"""

import itertools
import json
import re
import shutil
from pathlib import Path

import pytest

from openclaw_web import VERSION, clock
from tests.episodes.commands.command_line import run

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
LOG = DATA / "openclaw-mem" / "cli-transcript.log"
SESSIONS = DATA / "openclaw-2026.2.26" / "agents" / "main" / "sessions"
SPOOL = DATA / "openclaw-mem" / "openclaw-mem-episodes.jsonl"
NEEDS_OPTION = "tool.result events with a payload need --allow-tool-output"
IMPORTS = ("extract-sessions", "ingest")
# The recorded home has grown since: theirs prints these numbers for its files of today.
GROWN = {"lines_total": 175, "unsupported_rows": 100, "emitted": 75}
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("real_files"),
    pytest.mark.skipif(not LOG.exists(), reason="the recorded command lines are not on this machine"),
]
# (verb, field): the reason. A star stands for every item of a list.
DIFFERENCES = {
    ("*", "ts"): "the time of the run",
    ("*", "version.openclaw_web"): "our own version is named beside theirs",
    ("*", "hint"): "names openclaw-web",
    ("append", "event.event_id"): "a new UUID",
    ("append", "(refused)"): "tool.call and tool.result with a payload need --allow-tool-output, whatever they hold",
    ("append", "error"): "a key of repeated words is no secret, so that the next rule refuses the event",
    ("redact", "target.scope"): "redaction of an event needs its scope and names it; theirs reached into every scope",
    ("query", "items.*.created_at"): "the time of the run",
    ("query", "items.*.summary"): "redaction removes the summary too",
    ("query", "items.*.payload.hint"): "theirs adds its hint to payloads that have a key “error”",
    ("query", "has_more"): "an answer that its limit cuts says so",
    ("replay", "items.*.created_at"): "the time of the run",
    ("replay", "items.*.summary"): "redaction removes the summary too",
    ("replay", "gaps"): "what retention may have removed since the first event is said",
    ("extract-sessions", "source.sessions_root"): "the folder of the test",
    ("extract-sessions", "source.state"): "positions are stored in the home, and no other file is written",
    ("extract-sessions", "source.spool"): "events are stored directly",
    ("extract-sessions", "lines_total"): "the recorded home has grown since (GROWN)",
    ("extract-sessions", "unsupported_rows"): "the recorded home has grown since (GROWN)",
    ("extract-sessions", "emitted"): "the recorded home has grown since (GROWN)",
    ("extract-sessions", "counters.emitted"): "the recorded home has grown since (GROWN)",
    ("extract-sessions", "counters.skipped.unsupported_rows"): "the recorded home has grown since (GROWN)",
    ("extract-sessions", "duration_ms"): "the time it took",
    ("ingest", "source.file"): "the folder of the test",
    ("ingest", "source.state"): "positions are stored in the home, and no other file is written",
    ("ingest", "source.processed_sha256"): "names in the file were changed after it was recorded",
}


def read_lines():
    """Yield the words, the exit status and the receipt of each recorded line."""
    for block in re.split(r"^\$ openclaw-mem ", LOG.read_text(), flags=re.MULTILINE)[1:]:
        line, _newline, rest = block.partition("\n")
        receipt, _sign, status = rest.rpartition("rc=")
        if line.startswith("episodes "):
            yield split(line.removeprefix("episodes ")), int(status), json.loads(receipt)


def split(line):
    """Split a line whose words are not quoted: a value ends where the next option begins."""
    verb, *options = re.split(r" (?=--[a-z])", line)
    parts = [option.split(" ", 1) for option in options]
    return [*verb.split(), *(word for part in parts for word in part)]


def flatten(value, name=""):
    """Return the leaves of a receipt by name; an empty list is a leaf."""
    if not value or not isinstance(value, dict | list):
        return {name: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return {leaf: inmost for key, inner in pairs for leaf, inmost in flatten(inner, f"{name}.{key}".strip(".")).items()}


def find_differences(verb, recorded, receipt):
    """Return the fields that differ, as rows of DIFFERENCES name them."""
    theirs, ours = flatten(recorded), flatten(receipt)
    fields = {name for name in theirs.keys() | ours.keys() if theirs.get(name, ...) != ours.get(name, ...)}
    names = {re.sub(r"\b\d+\b", "*", name) for name in fields}
    return {("*", name) if ("*", name) in DIFFERENCES else (verb, name) for name in names}


@pytest.fixture
def at_recorded_time(monkeypatch):
    """Set the clock to the time of the recorded retention run."""
    (moment,) = (receipt["now_ts_ms"] for words, _status, receipt in read_lines() if words[0] == "gc")
    monkeypatch.setattr(clock, "now_ms", lambda: moment)


class Replay:
    """One run of all recorded lines, in their order, against one agent."""

    def __init__(self, folder):
        self.folder = folder
        self.ids = {}  # recorded ids of events, with ours
        (folder / "big.json").write_text(json.dumps("x" * 20_009))

    def run(self, words):
        words = [self.ids.get(word, word).replace("$TMPDIR", str(self.folder)) for word in words]
        status, out, err = run(*words)
        return status, json.loads(out) if out else err

    def rename(self, receipt):
        """Return a recorded receipt with our ids of events."""
        text = json.dumps(receipt)
        for theirs, ours in self.ids.items():
            text = text.replace(theirs, ours)
        return json.loads(text)


def test_recorded_lines_give_the_same_receipts(tmp_path, at_recorded_time):
    replay, differences = Replay(tmp_path), set()
    lines = [line for line in read_lines() if line[0][0] not in IMPORTS]
    for words, recorded_status, recorded in lines:
        status, receipt = replay.run(words)
        if recorded_status == 0 and status == 2 and receipt["error"] == NEEDS_OPTION:
            differences.add(("append", "(refused)"))
            status, receipt = replay.run([*words, "--allow-tool-output"])
        assert status == recorded_status, receipt
        differences |= find_differences(words[0], replay.rename(recorded), receipt)
        if words[0] == "append" and status == 0:
            replay.ids[recorded["event"]["event_id"]] = receipt["event"]["event_id"]
            assert receipt["version"]["openclaw_web"] == VERSION
    assert len(lines) == 24
    assert differences == {row for row in DIFFERENCES if row[0] not in IMPORTS}


def copy_sessions(folder):
    """Copy the sessions that the recorded home had then: those that are in the recorded spool."""
    folder.mkdir()
    names = {json.loads(line)["session_id"] for line in SPOOL.read_text().splitlines()}
    for name in names:
        shutil.copy(SESSIONS / f"{name}.jsonl", folder)
    return folder


def read_files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_recorded_imports_give_the_same_receipts_and_write_nothing(tmp_path, capsys):
    folder, spool = copy_sessions(tmp_path / "sessions"), tmp_path / "sessions" / "spool.txt"
    shutil.copy(SPOOL, spool)
    before, differences = read_files(folder), set()
    paths = {"--sessions-root": str(folder), "--file": str(spool), "--state": str(tmp_path / "state.json")}
    for words, recorded_status, recorded in [line for line in read_lines() if line[0][0] in IMPORTS]:
        words = [paths.get(option, word) for option, word in itertools.pairwise(["", *words])]
        status, out, _err = run(*words)
        receipt = json.loads(out)
        assert (status, "--state is ignored" in capsys.readouterr().err) == (recorded_status, True)
        differences |= find_differences(words[0], recorded, receipt)
        if words[0] == "extract-sessions":
            assert {name: receipt[name] for name in GROWN} == GROWN
    by_chance = {("*", "ts"), ("*", "version.openclaw_web"), ("extract-sessions", "duration_ms")}  # may be equal
    assert differences - by_chance == {row for row in DIFFERENCES if row[0] in IMPORTS} - by_chance
    assert read_files(folder) == before
    assert not (tmp_path / "state.json").exists()
