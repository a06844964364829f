"""Kills in appends, redactions and retention runs leave a whole ledger, whose counts are right."""

import sqlite3
from contextlib import closing

import pytest

from tests.processes import Home, Killer, until_met, wait_for

pytestmark = pytest.mark.kill
FILLED = 20_000  # events that FILL appends
BEGIN = """
import itertools
from agents import services
from episodes import redaction, retention
from episodes.append import append
from episodes.chain import heads, verification
from episodes.events import Limits, build_event
from episodes.models import EpisodeRun, EpisodicEvent
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
main = services.register("main")
events = EpisodicEvent.objects.using(main.db)

def add(name, count, *, age=0, **more):
    values = dict(type="tool.call", scope="alpha", session_id="s", agent_id="a", summary="saffron") | more
    moment = clock.now_ms() - age * DAY_MS
    limits = Limits(allows_tool_output=True)
    append(main.db, [build_event(**values, event_id=f"{name}-{number}", ts_ms=moment, payload={"text": "saffron " * 40},
                                 limits=limits) for number in range(count)])
"""
# Endless work; its first line says that it has begun.
APPENDS = (
    BEGIN
    + """
first = events.count()
print("working", flush=True)
for number in itertools.count():
    add(f"e{first}-{number}", 100)
"""
)
FILL = (
    BEGIN
    + """
for number in range(20):
    add(f"{name}-{number}", 1000, age=age)
print("filled")
"""
)
REDACT = (
    BEGIN
    + """
print("working", flush=True)
print(redaction.redact(main, redaction.Redaction.parse("alpha", session_id="s"), by="otto"))
"""
)
# Each batch removes few events, so that a kill can come between two of them.
RETENTION = (
    BEGIN
    + """
retention.BATCH_SIZE = 400
print("working", flush=True)
print(retention.run(main, "alpha", by="otto").deleted_total)
"""
)
CHECK = (
    BEGIN
    + """
result = verification.verify(main.db, heads.list_known_heads(main.db, "main"))
assert result.is_unchanged, (result.faults, result.heads)
assert not EpisodeRun.objects.using(main.db).filter(is_open=True).exists()
print(result.events, result.removed, sum(EpisodeRun.objects.using(main.db).values_list("removed_count", flat=True)),
      events.filter(redacted=1).count(), sep=":")
"""
)
GIVE_OUT = BEGIN + "print(heads.give_out(main.db, 'a test'))"


@pytest.fixture
def site(tmp_path, migrated):
    site = Home.copied(migrated, tmp_path / "home")
    yield site
    site.close()


def begin(site, code):
    """Start a process, and wait until it works."""
    process = site.start("shell", "--no-imports", "-c", code)
    wait_for(lambda: "working" in process.said or process.popen.poll() is not None)
    return process


def kill(killer, process):
    was_at_work = killer.kill(process.popen)
    assert was_at_work or process.popen.returncode == 0, process.said
    return was_at_work


def check(site):
    """Verify the ledger in a new process.

    Returns the numbers of its events, of removed ones by gaps and by runs, and of redacted ones.
    """
    return [int(number) for number in site.python(CHECK).split(":")]


def read(site, sql):
    with closing(sqlite3.connect(site.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        return store.execute(sql).fetchall()


def test_twenty_kills_in_appends_leave_whole_batches_and_their_chain(site):
    killer, sizes = Killer(21, 0.5), [0]
    for _number in until_met(killer, and_until=lambda: sizes[-1] > 1_000):
        kill(killer, begin(site, APPENDS))
        events, removed, _of_runs, _redacted = check(site)
        assert not removed and events >= sizes[-1]
        sizes.append(events)
        batches = read(site, "SELECT count(*) FROM episodic_events GROUP BY substr(event_id, 1, length(event_id) - 3)")
        assert events % 100 == 0, batches
        assert read(site, "SELECT count(*), max(id) FROM episodic_events") == [(events, events)]
    assert sizes[-1] > 1_000
    assert read(site, "PRAGMA integrity_check") == [("ok",)]


def test_twenty_kills_in_redactions_leave_events_whole_or_redacted(site):
    killer, total, counts = Killer(22, 0.3), 0, [0]
    for number in until_met(killer, and_until=lambda: counts[-1]):
        if counts[-1] == total:
            site.python(f"name, age = 'r{number}', 0\n{FILL}")
            total += FILLED
        kill(killer, begin(site, REDACT))
        events, _removed, _of_runs, redacted = check(site)
        [(notes,)] = read(site, "SELECT count(*) FROM episodic_events WHERE session_id = 'episodes-retention'")
        assert events == total + notes and redacted >= counts[-1]  # each redaction appends an event
        counts.append(redacted)
        halves = """SELECT count(*) FROM episodic_events WHERE redacted <> (summary = '[REDACTED]')
                    OR redacted <> (salt IS NULL) OR redacted <> (payload_json = '"[REDACTED]"')"""
        assert read(site, halves) == [(0,)]
    assert int(site.python(REDACT)) == total - counts[-1]  # each is counted by one run alone
    folder = site.path / "agents" / "main" / "agent"
    assert [file.name for file in folder.iterdir() if b"saffron" in file.read_bytes()] == []


def test_twenty_kills_in_retention_runs_leave_gaps_that_join(site):
    killer, total, counts = Killer(23, 0.4), 0, [0]
    for number in until_met(killer, and_until=lambda: counts[-1]):
        if counts[-1] == total:
            site.python(f"name, age = 'g{number}', 40\n{FILL}")
            site.python(GIVE_OUT)
            total += FILLED
        kill(killer, begin(site, RETENTION))
        events, removed, of_runs, _redacted = check(site)
        runs = read(site, "SELECT count(*) FROM episode_runs")[0][0]
        assert read(site, "SELECT count(*) FROM episodic_events WHERE session_id = 'episodes-retention'") == [(runs,)]
        assert removed == of_runs and events == total - removed + runs
        counts.append(removed)
    assert int(site.python(RETENTION)) == total - counts[-1]
    _events, removed, of_runs, _redacted = check(site)
    assert removed == of_runs == total
