"""A replay whose process is killed at any moment.

Each decision is replayed once, and every request has its row.
"""

import os
from collections import Counter

import pytest

from tests.gate.runner.judged_turns import decides
from tests.gate.runner.test_gate_kill import (  # noqa: F401 - fixtures
    ENDS,
    begin_run,
    collect,
    count_sent_windows,
    create_session,
    rows,
    site,
    source,
    stop_command,
    with_delay,
)
from tests.processes import FEW, Killer, until_met, wait_for

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
BEGIN = "from agents.models import Agent; from gate.replays import replay_launch; main = Agent.objects.get(); "
JUDGE = BEGIN + (
    "from gate.runner import job as runs; from gate.runner.turn_selection import TurnChoice; "
    "print(runs.run_here(main, TurnChoice(), by='root').state)"
)
START = BEGIN + (
    "from gate.replays.replay_request import ReplayRequest; request = ReplayRequest(model='other', limit=5000); "
    "replay, job = replay_launch.start_replay(main, request, by='root'); print('job', job.id, replay.id)"
)
GO_ON = BEGIN + (
    "from gate.models import GateReplay; replay = GateReplay.objects.using(main.db).get(); "
    "print(replay_launch.continue_replay(main, replay, by='otto').id)"
)
RUN = BEGIN + (
    "from jobs import services as jobs; from gate.models import GateReplay; "
    "replay = GateReplay.objects.using(main.db).latest('created_at', 'id'); "
    "job = jobs.run_now('gate_replay', dict(agent='main', replay=replay.id), by='root'); print(job.state, job.message)"
)


@pytest.fixture
def judged(site, source):  # noqa: F811
    """The site with sixty turns, each with a decision."""
    create_session(source, 60)
    collect(site, source)
    process = site.start("shell", "--no-imports", "-c", JUDGE)
    assert process.end() == 0, process.said
    return site


def launch_replay(site):  # noqa: F811
    process = site.start("shell", "--no-imports", "-c", START)
    assert process.end() == 0, process.said
    return process.said.split("job ")[1].split()[0]


def assert_replayed(site, before, replays=1):  # noqa: F811
    replayed = rows(site, "SELECT replay_id, decision_id, outcome FROM gate_replay_decisions")
    assert Counter(row[2] for row in replayed) == {"decided": 60 * replays}
    assert rows(site, "SELECT state, decided, agreed FROM gate_replays") == [("finished", 60, 60)] * replays
    assert rows(site, "SELECT * FROM memory_gate_decisions ORDER BY id") == before
    calls = rows(site, "SELECT window_hash, outcome FROM gate_calls")
    assert count_sent_windows(site) <= Counter(row[0] for row in calls)  # each request has its row
    sql = "SELECT replay_id, decision_id FROM gate_calls WHERE replay_id IS NOT NULL AND outcome = 'decided'"
    assert Counter(rows(site, sql)) == Counter(row[:2] for row in replayed)
    assert rows(site, "SELECT sum(total_decisions) FROM memory_gate_stats") == [(60,)]


def test_a_worker_that_is_killed_goes_on_with_a_replay(judged):
    before, sent = rows(judged, "SELECT * FROM memory_gate_decisions ORDER BY id"), len(judged.endpoint.requests)
    job_id = launch_replay(judged)
    for request_count in (5, 20):
        worker = judged.start("work")
        wait_for(lambda request_count=request_count: len(judged.endpoint.requests) - sent > request_count)
        os.kill(worker.pid, 9)
        worker.end()
    judged.start("work")
    wait_for(lambda: judged.job(job_id)["state"] == "finished")
    assert (judged.job(job_id)["done"], judged.job(job_id)["total"]) == (60, 60)
    assert_replayed(judged, before)


@pytest.mark.parametrize("number", ENDS)
def test_a_replay_of_a_terminal_ends_with_it_and_is_continued_by_a_person(judged, number):
    before = rows(judged, "SELECT * FROM memory_gate_decisions ORDER BY id")
    judged.start("work")
    judged.endpoint.then(with_delay(decides()))
    job = stop_command(judged, number, "reflection", "gate", "replay", "--model", "other", "--limit", "5000")
    assert "the replay can be continued on its page" in job["message"]
    assert rows(judged, "SELECT state FROM gate_replays") == [("stopped",)]
    judged.start("shell", "--no-imports", "-c", GO_ON).end()
    wait_for(lambda: rows(judged, "SELECT state FROM gate_replays") == [("finished",)])
    assert_replayed(judged, before)


def test_kills_at_any_moment_lose_no_decision_and_double_none(judged):
    before = rows(judged, "SELECT * FROM memory_gate_decisions ORDER BY id")
    launch_replay(judged)
    killer, replays = Killer(5, 0.5), 1
    for _number in until_met(killer, kills=FEW):
        process = begin_run(judged, RUN)
        if not killer.kill(process.popen):  # it got to its end: give it something new to do
            launch_replay(judged)
            replays += 1
    last = judged.start("shell", "--no-imports", "-c", RUN)
    assert last.end() == 0
    assert_replayed(judged, before, replays)
