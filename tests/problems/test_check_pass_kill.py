"""Checks as real processes: killed midway, two at once, and right after a change."""

import signal
import sqlite3
from contextlib import closing

import pytest

from tests.homes import Home as OpenClaw
from tests.homes import user
from tests.processes import Home, wait_for

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
PLANT = """
from openclaw_web import clock
from tests.factories import AgentFactory, CronJobFactory, CronRunFactory, SampleFactory
agent = AgentFactory(agent_id="main")
for number in range({tasks}):
    job = CronJobFactory(agent_id="main", name=f"Task {{number}}")
    CronRunFactory(agent_id="main", job_id=job.id, ts=clock.now_ms(), status="error")
SampleFactory(id="s1", agent_id="main")
print("planted")
"""
SETTLE = """
from automation.models import CronJob
from datasets.review import verdicts
CronJob.objects.all().delete()
verdicts.label_sample("s1", "approved", by="ann")
print("settled")
"""
# A check that is killed at its write of this number: before the write, or after it and before the commit.
KILLED = """
import os
from django.db import connections
from problems import check_pass
writes = []
def passing(execute, sql, params, many, context):
    is_write = sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE"))
    writes.append(sql) if is_write else None
    if is_write and len(writes) == {number} and not {after}:
        os.kill(os.getpid(), 9)
    answer = execute(sql, params, many, context)
    if is_write and len(writes) == {number} and {after}:
        os.kill(os.getpid(), 9)
    return answer
with connections["default"].execute_wrapper(passing):
    print(check_pass.check_all())
"""
CHECK = "from problems import check_pass; print(check_pass.check_all())"
BESIDE = """
import pathlib, time
from problems import check_pass
print("ready", flush=True)
while not pathlib.Path({go!r}).exists():
    pass
print("checks:", sum(check_pass.check_all() for _number in range(40)))
"""
# This worker checks again only after a change, never by time.
WORKER = "from jobs import worker; worker.CHECK_EVERY = 10**9; worker.work()"


IMPORT_FAILED = """
SELECT count(*) FROM problems
WHERE kind = 'import_failed' AND detail_json LIKE '%no OpenClaw agents%' AND state = '{state}'
"""
REFUSALS = "SELECT count(*) FROM kv WHERE scope = 'refused_watches'"


@pytest.fixture
def home(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    yield home
    home.close()


def rows(home):
    """Return the stored problems and checks."""
    with closing(sqlite3.connect(home.path / "state" / "openclaw.sqlite")) as db:
        problems = db.execute("SELECT kind, subject, state, is_found, reopened_count FROM problems ORDER BY id")
        return problems.fetchall(), db.execute("SELECT place, checked_at FROM problem_checks ORDER BY place").fetchall()


def kill_at_each_write(home):
    """Kill a check at each of its writes until one survives; returns the number of kills."""
    before, kills = rows(home), 0
    while True:
        process = home.start("shell", "--no-imports", "-c", KILLED.format(number=kills // 2 + 1, after=kills % 2 == 1))
        if process.end() == 0:
            return kills
        assert process.popen.returncode == -signal.SIGKILL and rows(home) == before, process.said
        kills += 1


def test_a_check_that_is_killed_stores_nothing_and_the_next_completes(home):
    home.python(PLANT.format(tasks=25))
    assert kill_at_each_write(home) >= 4
    problems, checks = rows(home)
    kinds = [row[0] for row in problems if row[2] == "open"]
    assert (kinds.count("task_failing"), kinds.count("samples_waiting"), len(set(problems))) == (21, 1, len(problems))
    assert kinds.count("agent_file") == 1 and [place for place, _at in checks] == [""]
    home.python(SETTLE)
    assert kill_at_each_write(home) >= 4
    assert {row[2] for row in rows(home)[0] if row[0] in ("task_failing", "samples_waiting")} == {"closed"}


def test_two_that_check_at_once_find_each_problem_once(home, tmp_path):
    home.python(PLANT.format(tasks=15))
    go = tmp_path / "go"
    both = [home.start("shell", "--no-imports", "-c", BESIDE.format(go=str(go))) for _number in range(2)]
    wait_for(lambda: all("ready" in process.said for process in both))
    go.touch()
    assert [process.end() for process in both] == [0, 0], [process.said for process in both]
    assert sum(int(process.said.split()[-1]) for process in both) >= 40
    problems, _checks = rows(home)
    assert [row[0] for row in problems].count("task_failing") == 15 and len(problems) == 17
    assert {row[2:] for row in problems} == {("open", 1, 0)}


def test_what_somebody_has_seen_to_is_checked_in_the_next_round(home):
    home.python(PLANT.format(tasks=0))
    worker = home.start("shell", "--no-imports", "-c", WORKER)
    waits = "SELECT count(*) FROM problems WHERE kind = 'samples_waiting' AND state = 'open'"
    wait_for(lambda: home.count(waits) == 1 and home.count("SELECT count(*) FROM problem_checks WHERE place = ''"))
    home.python("from datasets.review import verdicts; print(verdicts.label_sample('s1', 'approved', by='ann').id)")
    wait_for(lambda: home.count(waits) == 0)
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0, worker.said


def test_a_refused_import_of_the_watcher_is_a_problem_until_one_works(home, tmp_path):
    openclaw = OpenClaw(tmp_path / "openclaw")
    openclaw.transcript(user("One"))
    agents, away = openclaw.root / "agents", openclaw.root / "away"
    watcher = home.start("collect", "--watch", "--source", str(openclaw.root))
    wait_for(lambda: home.count("SELECT count(*) FROM agent_summaries WHERE last_collected_at > 0"))
    agents.rename(away)
    openclaw.write("openclaw.json", {})  # the watcher reacts to this change
    wait_for(lambda: home.count(REFUSALS) == 1)
    home.python(CHECK)
    assert home.count(IMPORT_FAILED.format(state="open")) == 1, watcher.said
    away.rename(agents)
    openclaw.write("openclaw.json", {"agents": {}})
    wait_for(lambda: home.count(REFUSALS) == 0)
    home.python(CHECK)
    assert home.count(IMPORT_FAILED.format(state="closed")) == 1, watcher.said
    watcher.signal(signal.SIGTERM)
    assert watcher.end() == 0, watcher.said
