"""A process that fills the search may be killed at any moment: what follows goes on, and nothing is missing."""

import random
import signal
import time

import pytest

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import run, start

pytestmark = pytest.mark.kill
KILLS = 20


@pytest.mark.parametrize("words", [("search", "rebuild")])
def test_twenty_kills_lose_no_word(tmp_path, words):
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=6, turns=60)
    began = time.monotonic()
    assert run(home, *words)[0] == 0
    length, draw, met = time.monotonic() - began, random.Random(43), 0
    file = home / "agents" / "main" / "agent" / "search.sqlite"
    for number in range(KILLS):
        if number % 3 == 2:
            file.unlink(missing_ok=True)
        process = start(home, *words)
        time.sleep(draw.uniform(0.3, 1) * length)
        met += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        status, out, err = run(home, "search", "find", "Answer", "--limit", "5")
        assert status == 0, err + out
    assert run(home, "search", "rebuild")[0] == 0
    status, out, err = run(home, "search", "verify")
    assert (status, "every text" in out) == (0, True), out + err
    assert met
