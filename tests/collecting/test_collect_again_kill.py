"""A killed `collect --again` leaves each session old or new; the next run completes it."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.collecting.test_collect_kill import measure_run, read_rows, start_command, wait_for_start
from tests.homes import Home, assistant, result, user
from tests.processes import FEW, Killer, until_met
from tests.suite import fixture_cache

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
DAMAGE = """
    DELETE FROM transcript_events WHERE seq % 5 = 2;
    DELETE FROM conversation_turns WHERE turn_number % 3 = 1;
    UPDATE sessions SET total_tokens = 1, title = '';
"""


def damage(home):
    with closing(sqlite3.connect(home / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        store.executescript(DAMAGE)


def count_records(home):
    """Return the number of records of each session."""
    with closing(sqlite3.connect(home / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        counts = store.execute("SELECT count(*) FROM transcript_events GROUP BY session_id")
        return [count for (count,) in counts]


def test_kills_while_sessions_are_made_again(tmp_path):
    home = Home(tmp_path / "openclaw")
    for _number in range(40):
        script = home.transcript()
        for turn in range(20):
            call = f"c{turn}"
            script.add(user(f"Question {turn}"), assistant("", (call, "exec", {"n": turn})), result(call, "x" * 900))
            script.add(assistant(f"Answer {turn}"))
    words = ("collect", "--source", str(home.root))
    fixture_cache.copy_home(tmp_path / "clean")
    assert start_command(tmp_path / "clean", *words).wait() == 0
    expected, whole = read_rows(tmp_path / "clean"), count_records(tmp_path / "clean")
    for copy in ("measured", "killed"):
        shutil.copytree(tmp_path / "clean", tmp_path / copy)
        damage(tmp_path / copy)
    damaged = count_records(tmp_path / "killed")
    killer = Killer(
        11, measure_run(tmp_path / "measured", start_command(tmp_path / "measured", *words, "--again"))[0] / 2
    )
    assert read_rows(tmp_path / "measured") == expected
    for _kill in until_met(killer, kills=FEW):
        process = start_command(tmp_path / "killed", *words, "--again")
        wait_for_start(tmp_path / "killed", process)
        if not killer.kill(process):  # it got to its end: give it something to do
            damage(tmp_path / "killed")
        now = count_records(tmp_path / "killed")
        assert len(now) == len(whole) and {*now} <= {*whole, *damaged}
    assert start_command(tmp_path / "killed", *words, "--again").wait() == 0
    assert read_rows(tmp_path / "killed") == expected
