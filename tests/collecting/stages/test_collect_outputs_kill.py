"""Kills of a collect with big outputs, or of their move, leave whole artifacts.

The move takes the outputs that older records kept.
"""

import gzip
import hashlib
import json
import random
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from tests.collecting.stages.test_collect_decisions_kill import COLLECT, assert_success, start_python
from tests.homes import Home, assistant, result, user
from tests.processes import FEW, Killer, until_met
from tests.suite import fixture_cache

pytestmark = [pytest.mark.kill, pytest.mark.nightly]

OFF = "configuration.put('collector.stashOutputs', False)\n"
ON = OFF.replace("False", "True")
MOVE = "collect.run({'source': sys.argv[1], 'again': True}, Progress())\n"


@pytest.fixture
def source(tmp_path):
    """A home with results of all sizes, some of them the same in two sessions."""
    home, chance = Home(tmp_path / "openclaw", agents=("main", "research")), random.Random(3)
    shared = [chance.randbytes(9_000).hex() for _ in range(5)]
    for number in range(40):
        script = home.transcript(agent=("main", "research")[number % 2])
        for turn in range(12):
            text = chance.choice([chance.randbytes(chance.randrange(200, 12_000)).hex(), chance.choice(shared)])
            script.add(user(f"Question {turn}"), assistant("", ("c", "exec", {})), result("c", text), assistant("Done"))
    return home.root


def finish(home, code, source):
    """Run `code` to its end, and return its seconds without the start of Django."""
    process = start_python(home, code, source)
    assert process.stdout.readline() == "ready\n"
    started = time.monotonic()
    assert_success(process)
    return time.monotonic() - started


def check(home):
    """Assert that notes, rows and contents fit together; return texts by place, and two counts.

    Every note has its row and its sound content, every row its note. The counts are of the notes, and of the sums of
    sessions.
    """
    blobs = {}
    for path in (home / "artifacts" / "blobs").rglob("*.txt*"):
        data = gzip.decompress(path.read_bytes())
        assert hashlib.sha256(data).hexdigest() == path.name[:64]
        blobs[path.name[:64]] = data.decode()
    texts, count, sums = {}, 0, 0
    for file in home.glob("agents/*/agent/openclaw-agent.sqlite"):
        with closing(sqlite3.connect(file)) as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = store.execute(
                "SELECT session_id, event_id, trim_json, event_json FROM transcript_events WHERE kind = 'tool_result'"
            )
            notes = set()
            for session_id, record_id, trim_json, event_json in rows:
                text = json.loads(event_json)["message"]["content"][0]["text"]
                for note in json.loads(trim_json or "{}").get("stashed", ()):
                    notes.add((session_id, record_id, note["handle"]))
                    text = blobs[note["handle"][-64:]]
                texts[session_id, record_id] = text
            assert notes == set(store.execute("SELECT session_id, record_id, handle FROM artifacts"))
            count += len(notes)
            sums += store.execute("SELECT coalesce(sum(stashed_count), 0) FROM session_tools").fetchone()[0]
    return texts, count, sums


def kill_often(tmp_path, source, code, template, seconds):
    """Run `code` on copies of a home, and kill it at random.

    `seconds` is the time that the code takes. Returns the last home, and how many kills met it between its first and
    its last artifact.
    """
    killer, home, met = Killer(11, seconds), tmp_path / "killed", []
    all_notes = check(tmp_path / "clean")[1]
    for _kill in until_met(killer, kills=FEW, and_until=lambda: met):
        if not home.exists():
            shutil.copytree(template, home)
        process = start_python(home, code, source)
        assert process.stdout.readline() == "ready\n"
        is_at_work = killer.kill(process)
        if 0 < (count := check(home)[1]) < all_notes:
            met.append(count)
        if not is_at_work:
            shutil.rmtree(home)
    if not home.exists():
        shutil.copytree(template, home)
    return home, len(met)


def test_kills_of_a_collect_leave_no_note_without_its_content(tmp_path, source):
    fixture_cache.copy_home(tmp_path / "template")
    shutil.copytree(tmp_path / "template", tmp_path / "clean")
    seconds = finish(tmp_path / "clean", COLLECT, source)
    home, met = kill_often(tmp_path, source, COLLECT, tmp_path / "template", seconds)
    finish(home, COLLECT, source)
    assert check(home) == check(tmp_path / "clean")
    assert met, "no kill ever met it between the first and the last artifact"


def test_kills_of_the_move_leave_no_note_without_its_content(tmp_path, source):
    finish(fixture_cache.copy_home(tmp_path / "template"), OFF + COLLECT + ON, source)
    shutil.copytree(tmp_path / "template", tmp_path / "clean")
    seconds = finish(tmp_path / "clean", MOVE, source)
    home, met = kill_often(tmp_path, source, MOVE, tmp_path / "template", seconds)
    finish(home, MOVE, source)
    assert check(home) == check(tmp_path / "clean")
    assert met, "no kill ever met it between the first and the last artifact"
