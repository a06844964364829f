"""Plugin logs that grow, are cut or replaced between imports.

The store is as if they had been read once.
"""

import json
import os
import random

import pytest

from agents.models import CollectorSource, ReaderState
from gate.models import MemoryGateDecision
from gate.recording import windows
from guardian.models import WriteGuardianAudit
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_opens, run
from tests.gate.collectors import reflection_files
from tests.homes import Home

LINES = 150
pytestmark = pytest.mark.django_db


@pytest.fixture
def place(tmp_path, real_files):
    home = Home(tmp_path / "openclaw")
    home.transcript()
    (home.root / "workspace" / ".openclaw-reflection").mkdir(parents=True)
    configuration.put("reflection.logFolder", str(tmp_path / "logs"))
    (tmp_path / "logs").mkdir()
    return home, tmp_path / "logs" / "reflection-2026-09-21.log", tmp_path / "whole"


@pytest.fixture
def whole(place):
    """The final content of both logs: lines of the plugin, and of write_guardian."""
    _home, _log, folder = place
    (folder / ".openclaw-reflection").mkdir(parents=True)
    reflection_files.write_conversation(folder / "log", lines=LINES)
    reflection_files.write_writes(folder, lines=LINES // 5)
    return (folder / "log").read_bytes(), (folder / ".openclaw-reflection" / "write-guardian.log.jsonl").read_bytes()


def get_guardian_log(home):
    return home.root / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"


def put(file, data, *, is_still=True):
    """Writes the content of a log; with `is_still` nobody seems to be writing it."""
    with file.open("r+b" if file.exists() else "wb") as handle:
        handle.write(data)
        handle.truncate()
    if is_still:
        os.utime(file, (1_700_000_000, 1_700_000_000 + len(data)))


def is_settled(piece):
    return b"decision generated" not in piece[: piece.rfind(b"\n") + 1].splitlines()[-1]


def read_store():
    rows = MemoryGateDecision.objects.using(MAIN).order_by("id")
    columns = ("id", "window_hash", "candidate_fact", "saw_user", "llm_latency_ms", "session_key", "llm_model")
    writes = WriteGuardianAudit.objects.using(MAIN).order_by("id").values_list("id", "candidate_fact", "decision_id")
    return list(rows.values_list(*columns)), list(writes)


def read_once(home, log, whole):
    put(log, whole[0])
    put(get_guardian_log(home), whole[1])
    result = run(home, again=True)  # which reads logs from their start
    assert result["gate"]["decisions"] == result["guardian"]["writes"] == 0
    return read_store()


@pytest.mark.parametrize("seed", range(6))
def test_cut_anywhere_the_pieces_are_what_the_whole_is(place, whole, seed):
    home, log, _folder = place
    chosen = random.Random(seed)
    for step in range(1, 6):
        for file, data in ((log, whole[0]), (get_guardian_log(home), whole[1])):
            near = len(data) * step // 5 + chosen.randint(-400, 400)
            piece = data[: len(data) if step == 5 else near]
            # A log that nobody writes has ended, even where a decision lacks its next line: other tests cover that.
            put(file, piece, is_still=is_settled(piece) and (chosen.random() < 0.5 or step == 5))
        run(home)
    store_rows = read_store()
    assert len(store_rows[0]) == len(store_rows[1]) == LINES // 5
    assert all(window and fact for _id, window, fact, *_more in store_rows[0])
    assert store_rows == read_once(home, log, whole)


def test_what_was_read_is_not_read_again(place, whole):
    home, log, _folder = place
    half = len(whole[0]) // 2
    put(log, whole[0][:half])
    run(home)
    put(log, whole[0])
    source = CollectorSource.objects.get(kind="reflection_log")
    assert half - 1_000 < source.byte_offset <= half
    run(home)
    assert CollectorSource.objects.get(kind="reflection_log").byte_offset == len(whole[0])
    opened = count_opens(lambda: run(home))
    assert str(log) not in opened and str(get_guardian_log(home)) not in opened


@pytest.mark.parametrize("how", ["cut", "another", "cut and grown"])
def test_a_log_that_was_written_anew_is_read_from_its_start(place, whole, how):
    home, log, folder = place
    put(log, whole[0])
    put(get_guardian_log(home), whole[1])
    run(home)
    other = folder / "other"
    (other / ".openclaw-reflection").mkdir(parents=True)
    start = reflection_files.write_conversation(other / "skipped", lines=5_000)
    reflection_files.write_conversation(other / "log", lines=50, start=start)
    new_lines = (other / "log").read_bytes()
    if how == "another":
        log.unlink()
    put(log, new_lines if how != "cut and grown" else new_lines * 4)
    assert run(home)["gate"]["decisions"] == 10
    assert MemoryGateDecision.objects.using(MAIN).count() == LINES // 5 + 10


def test_a_conversation_goes_on_in_the_file_of_the_next_day(place, whole):
    home, log, _folder = place
    lines = whole[0].splitlines(keepends=True)
    put(log, b"".join(lines[:78]))
    run(home)
    put(log.with_name("reflection-2026-09-22.log"), b"".join(lines[78:]))
    put(get_guardian_log(home), whole[1])
    run(home)
    store_rows = read_store()
    assert len(store_rows[0]) == LINES // 5 and all(window for _id, window, *_more in store_rows[0])


def test_while_somebody_has_opted_out_no_words_are_kept_beside_the_store(place, whole):
    home, log, _folder = place
    put(log, b"".join(whole[0].splitlines(keepends=True)[:78]))
    put(get_guardian_log(home), whole[1][: len(whole[1]) // 2])
    run(home)
    assert ReaderState.objects.exists()
    configuration.put("collector.optedOutSenders", ["tom"])
    put(log, whole[0])
    put(get_guardian_log(home), whole[1])
    result = run(home)
    assert not ReaderState.objects.filter(how__startswith="plugin").exists()
    assert result["gate"]["withheld"] and not result["gate"]["decisions"]
    configuration.put("collector.optedOutSenders", [])
    os.utime(log, (1_700_000_001, 1_700_000_001))
    assert run(home)["gate"]["decisions"] == result["gate"]["withheld"]
    assert len(read_store()[0]) == LINES // 5


def test_a_window_is_as_long_as_the_plugin_says_and_what_is_over_the_limit_is_counted(place):
    home, log, _folder = place
    reflection_files.write_long_windows(log, decisions=3, size=1_000, before=100)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    assert run(home)["gate"]["decisions"] == 3
    rows = MemoryGateDecision.objects.using(MAIN).order_by("created_at")
    decision_windows = [windows.read_window(MAIN, row.window_hash) for row in rows]
    assert [(len(window.recent), window.left_out) for window in decision_windows] == [(64, 38), (64, 40), (64, 42)]
    assert json.loads(decision_windows[0].text)["leftOut"] == 38 and "leftOut" not in decision_windows[0].body
