"""Runs of our own gate in real processes that are killed or run at once.

No decision is lost or doubled, and the limit of tokens is never exceeded.
"""

import hashlib
import json
import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest

from tests import processes
from tests.homes import Home, assistant, user
from tests.llm_endpoint import Endpoint, says
from tests.processes import FEW, Killer, until_met, wait_for

from .judged_turns import USED, answer, decides

pytestmark = pytest.mark.kill
BEGIN = "from agents.models import Agent; from gate.runner import config, job as runs; main = Agent.objects.get(); "
RUN = BEGIN + (
    "from gate.runner.turn_selection import TurnChoice; job = runs.run_here(main, TurnChoice(), by='root'); "
    "print(job.state, job.message)"
)
PAGE_RUN = BEGIN + (
    "from gate.runner.turn_selection import TurnChoice; print(runs.start_run(main, TurnChoice(), by='otto').id)"
)
# The code of a run without its lock, so that several processes can run it.
WALK = BEGIN + (
    "from agents.runners.batch import Batch; from jobs.progress import Progress; gate = config.get_active_gate(); "
    "batch = Batch(config.RUNNER, gate, Progress(), len({ids!r})); "
    "batch.run({ids!r}, runs.build_turn_handler(main.db, gate, batch)); "
    "print('done', batch.done, batch.stopped[:9] == 'The limit')"
)
SET = (
    "from people.configuration import setting_values as configuration; configuration.put_all({values!r}); print('set')"
)


@pytest.fixture
def source(tmp_path):
    return Home(tmp_path / "openclaw")


@pytest.fixture
def site(tmp_path, migrated, source):
    home = processes.Home.copied(migrated, tmp_path / "home")
    with Endpoint(decides()) as home.endpoint:
        home.env["OPENCLAW_WEB_LLM_URL"] = home.endpoint.url
        home.python(SET.format(values={"memoryGate.enabled": True, "llm.model": "small", "memoryGate.tokensPerDay": 0}))
        yield home
        home.close()


def collect(site, source):
    process = site.start("collect", "--source", str(source.root), "--quiet")
    assert process.end() == 0, process.said


def create_session(source, turns, **more):
    """Writes a transcript of `turns` turns."""
    records = [record for n in range(turns) for record in (user(f"Question {n}"), assistant(f"Answer {n}"))]
    return source.transcript(*records, **more)


def begin_run(site, code=RUN):
    """Starts a process that judges; returns when its job has begun."""
    known = set((site.path / "state" / "running").glob("*"))
    process = site.start("shell", "--no-imports", "-c", code)
    wait_for(lambda: process.popen.poll() is not None or set((site.path / "state" / "running").glob("*")) - known)
    return process


def rows(site, sql):
    with closing(sqlite3.connect(site.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        return store.execute(sql).fetchall()


def count_sent_windows(site):
    """Counts the windows, by hash, of the requests that arrived whole."""
    counts = Counter()
    for request in site.endpoint.requests:
        try:
            counts[hashlib.sha256(request.words.encode()).hexdigest()] += 1
        except json.JSONDecodeError:  # its process was killed while it sent
            continue
    return counts


def test_kills_lose_no_decision_and_double_none(site, source):
    for number in range(20):
        create_session(source, 30, session=f"00000000-0000-0000-0000-0000000000{number:02}")
    collect(site, source)
    killer = Killer(11, 0.6)
    for number in until_met(killer, kills=FEW):
        process = begin_run(site)
        if not killer.kill(process.popen):  # it got to its end: give it something new to do
            create_session(source, 30, session=f"11111111-0000-0000-0000-0000000000{number:02}")
            collect(site, source)
    last = site.start("shell", "--no-imports", "-c", RUN)
    assert last.end() == 0
    assert "finished" in last.said

    turns = {row[0] for row in rows(site, "SELECT id FROM conversation_turns")}
    judged = Counter(row[0] for row in rows(site, "SELECT turn_id FROM memory_gate_decisions"))
    assert judged == Counter(turns)
    calls = rows(site, "SELECT window_hash, outcome, decision_id FROM gate_calls")
    assert count_sent_windows(site) <= Counter(row[0] for row in calls)  # each request has its row
    outcomes = Counter(row[1] for row in calls)
    assert outcomes["decided"] == len(turns)
    assert outcomes.keys() <= {"decided", "sent"}
    assert outcomes["sent"] <= killer.met
    assert rows(site, "SELECT sum(total_decisions) FROM memory_gate_stats") == [(len(turns),)]
    assert rows(site, "PRAGMA integrity_check") == [("ok",)]


ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def stop_command(site, number, *command):
    """Ends a command that asks models by a signal; returns its job when that has stopped.

    The signal is sent after three requests, while a worker runs beside the command.

    Proves by the log of the endpoint that nothing was sent afterwards, while the worker ran another job.
    """
    ids = set(job_ids(site))
    before = len(site.endpoint.requests)
    process = site.start(*command, "--yes", "--quiet")
    wait_for(lambda: len(site.endpoint.requests) >= before + 3 or process.popen.poll() is not None)
    process.signal(number)
    status = process.end()
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 130), process.said
    (job_id,) = set(job_ids(site)) - ids
    wait_for(lambda: site.job(job_id)["state"] == "stopped")
    sent = len(site.endpoint.requests)
    beside = site.start_job("lines", file=str(site.path / "beside"), count=1)
    wait_for(lambda: site.job(beside)["state"] == "finished")
    assert len(site.endpoint.requests) == sent
    return site.job(job_id)


def job_ids(site):
    with closing(sqlite3.connect(site.path / "state" / "openclaw.sqlite")) as db:
        # Without what the worker begins by itself.
        return [row[0] for row in db.execute("SELECT id FROM job_runs WHERE kind LIKE 'gate%'")]


@pytest.mark.parametrize("number", ENDS)
def test_a_run_of_a_terminal_ends_with_it_and_nothing_is_sent_afterwards(site, source, number):
    create_session(source, 30)
    collect(site, source)
    site.start("work")
    site.endpoint.then(with_delay(decides()))
    job = stop_command(site, number, "reflection", "gate", "run")
    assert job["message"] == (
        "Stopped: its process in the terminal has ended. Nothing is sent until a person starts it again. "
        "Decisions so far are kept; turns without one can be judged by another run."
    )
    judged = rows(site, "SELECT count(*) FROM memory_gate_decisions")[0][0]
    assert 2 <= judged < 30
    site.start("shell", "--no-imports", "-c", PAGE_RUN).end()  # the same, asked for by a person on a page
    wait_for(lambda: rows(site, "SELECT count(*), count(DISTINCT turn_id) FROM memory_gate_decisions") == [(30, 30)])


def with_delay(behaviour):
    def act(handler):
        time.sleep(0.05)
        behaviour(handler)

    return act


def test_of_two_runs_at_once_one_is_refused(site, source):
    create_session(source, 40)
    collect(site, source)
    site.endpoint.then(with_delay(decides()))
    both = [begin_run(site), begin_run(site)]
    assert [process.end() for process in both] == [0, 0]
    states = sorted(process.said.split()[0] for process in both)
    assert states == ["finished", "refused"], [process.said for process in both]
    assert rows(site, "SELECT count(*), count(DISTINCT turn_id) FROM memory_gate_decisions") == [(40, 40)]
    assert len(site.endpoint.requests) == 40


@pytest.mark.parametrize("usage", [{}, USED])
def test_two_processes_never_take_more_than_the_limit(site, source, usage):
    create_session(source, 60)
    collect(site, source)
    limit = 30_000
    site.python(SET.format(values={"memoryGate.tokensPerDay": limit, "memoryGate.windowSize": 0}))
    ids = [row[0] for row in rows(site, "SELECT id FROM conversation_turns ORDER BY first_seq")]
    site.endpoint.then(says(answer(), **usage))
    both = [site.start("shell", "--no-imports", "-c", WALK.format(ids=ids[n::2])) for n in range(2)]
    while any(process.popen.poll() is None for process in both):
        taken = rows(site, "SELECT coalesce(sum(reserved_tokens), 0) FROM gate_calls")[0][0]
        assert taken <= limit
    assert [process.end() for process in both] == [0, 0]
    done = [int(process.said.split()[1]) for process in both]
    assert sum(done) == len(site.endpoint.requests) == rows(site, "SELECT count(*) FROM memory_gate_decisions")[0][0]
    assert any(process.said.split()[2] == "True" for process in both)
    taken = rows(site, "SELECT sum(reserved_tokens) FROM gate_calls")[0][0]
    assert limit - 3_000 < taken <= limit  # the next call would have been too much


def test_a_job_worker_that_is_killed_goes_on_with_a_run(site, source):
    create_session(source, 30)
    collect(site, source)
    params = {"agent": "main", "before_at": int(time.time() * 1000)}
    job_id = site.start_job("gate", **params)
    for request_count in (5, 15):
        worker = site.start("work")
        wait_for(lambda request_count=request_count: len(site.endpoint.requests) > request_count)
        os.kill(worker.pid, 9)
        worker.end()
    worker = site.start("work")
    wait_for(lambda: site.job(job_id)["state"] == "finished")
    assert site.job(job_id)["message"] == "30 turns judged."
    assert (site.job(job_id)["done"], site.job(job_id)["total"]) == (30, 30)
    assert rows(site, "SELECT count(*), count(DISTINCT turn_id) FROM memory_gate_decisions") == [(30, 30)]
    assert len(site.endpoint.requests) <= 32
