"""Kills web processes, jobs and supervisor while users label, export and collect."""

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress

import pytest

from tests import homes
from tests.processes import KILLS, Home, children, find_free_port, note_kills, read_process_name, wait_for

SAMPLES = 3_000
LABELLERS = 4
TARGETS = ("web process", "jobs", "web process", "supervisor", "web process")
INTERRUPTED_TWICE = "SELECT count(*) FROM job_runs WHERE state IN ('queued', 'running') AND attempts >= 2"
PREPARE = """
import json
from agents import services
from datasets.models import DatasetSample
from people.accounts import services as accounts, tokens
services.register("main")
content = {"type": "annotated_turn", "context": [], "userMessage": "Q", "agentReply": "A " * 500}
DatasetSample.objects.bulk_create(
    DatasetSample(
        id=f"{n:05}", sample_type="annotated_turn", agent_id="main", session_id="s", turn_number=n, turn_id=f"t{n}",
        created_at=1_700_000_000_000 + n, annotation_status="pending", content=json.dumps(content),
    )
    for n in range(SAMPLES)
)
user, _link = accounts.add_user("root", "admin")
print(tokens.make_token(user, name="x", role="admin")[1])
"""
pytestmark = [pytest.mark.kill, pytest.mark.nightly]


@pytest.fixture
def served(tmp_path, migrated):
    """A served site with samples, and an OpenClaw home beside it."""
    source = homes.Home(tmp_path / "openclaw")
    for _number in range(20):
        talk = source.transcript()
        for turn in range(20):
            talk.add(homes.user(f"Question {turn}"), homes.assistant(f"Answer {turn}"))
    home = Home.copied(migrated, tmp_path / "web")
    home.env["OPENCLAW_STATE_DIR"] = str(source.root)
    yield Served(home, source, home.python(f"SAMPLES = {SAMPLES}\n{PREPARE}"))
    home.close()


class Served:
    """A site that keeps its port when it is started again."""

    def __init__(self, home, source, token):
        self.home, self.source = home, source
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.port = find_free_port()
        self.start()

    def start(self):
        self.server = self.home.start("serve", "--port", str(self.port))
        self.server.address()

    def post(self, path, body, key=""):
        """The status and the answer of a request; None when the connection broke."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {})}
        with closing(connection), suppress(OSError, http.client.HTTPException, ValueError):
            connection.request("POST", f"/api/v1{path}", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        return None

    def ask_for_export(self, name):
        """Request an export; return [name] if it was promised, else an empty list.

        It was not promised if the connection broke or the server was busy (503).
        """
        answer = self.post("/exports", {"name": name, "format": "alpaca"}, name)
        if answer is None or answer[0] == 503:  # 503: the file was busy, nothing was stored
            return []
        assert answer[0] in (200, 201, 202), answer
        return [name]

    def kill(self, target):
        """Kill a process; return whether there was one to kill.

        A supervisor is started again; everything else must come back by itself. A job that was interrupted twice before
        any progress is not killed, because it is meant to fail the third time.
        """
        if target in ("jobs", "supervisor") and self.rows(INTERRUPTED_TWICE) != [(0,)]:
            return False
        victims = {
            "web process": [pid for pid in children(self.server.pid) if read_process_name(pid) == "site"],
            "jobs": [self.server.child("jobs")],
            "supervisor": [self.server.pid],
        }[target]
        victims = [pid for pid in victims if pid]
        if not victims:
            return False
        with suppress(ProcessLookupError):
            os.kill(random.choice(victims), signal.SIGKILL)
        if target == "supervisor":
            self.server.end()
            self.start()
        return True

    def come_to_rest(self):
        """Wait until no job is left to do."""
        wait_for(lambda: self.rows("SELECT count(*) FROM job_runs WHERE state IN ('queued', 'running')") == [(0,)])

    def rows(self, sql):
        with closing(sqlite3.connect(self.home.path / "state" / "openclaw.sqlite", timeout=30)) as db:
            return db.execute(sql).fetchall()


class Labeller(threading.Thread):
    """Judges every sample, as the other labellers do, until it is stopped."""

    def __init__(self, served, stop):
        super().__init__(daemon=True)
        self.served, self.stop = served, stop
        self.answered, self.unexpected = set(), []

    def run(self):
        order = list(range(SAMPLES))
        random.Random(id(self)).shuffle(order)
        for number in order:
            if self.stop.is_set():
                return
            self.judge(f"{number:05}")

    def judge(self, sample_id):
        body = {"status": "approved", "expected_status": "pending", "notes": self.name}
        answer = self.served.post(f"/samples/{sample_id}/label", body)
        if answer is None:  # the verdict may be stored or not; the next labeller tries again
            time.sleep(0.05)
        elif answer[0] == 200:
            self.answered.add(sample_id)
        elif answer[0] != 409:
            self.unexpected.append(answer)


def test_twenty_kills_under_load_lose_nothing_and_double_nothing(served):
    chance, stop = random.Random(3), threading.Event()
    labellers = [Labeller(served, stop) for _ in range(LABELLERS)]
    for labeller in labellers:
        labeller.start()
    wait_for(lambda: any(labeller.answered for labeller in labellers))  # before, there is nothing to export
    export_names, kills, rounds = [], 0, 0
    while kills < KILLS:
        export_names += served.ask_for_export(f"export-{rounds}")
        served.post("/operations/collect", {})
        served.source.transcript(homes.user(f"More {rounds}"), homes.assistant("Yes"))
        time.sleep(0.2 + chance.random())
        kills += served.kill(TARGETS[kills % len(TARGETS)])  # none when the target is just being started again
        rounds += 1
    note_kills(kills, rounds)
    stop.set()
    for labeller in labellers:
        labeller.join()

    served.come_to_rest()
    served.post("/operations/collect", {})
    served.come_to_rest()
    assert [problem for labeller in labellers for problem in labeller.unexpected] == []
    check_verdicts(served, [sample_id for labeller in labellers for sample_id in labeller.answered])
    check_jobs(served, set(export_names))
    check_store(served, 20 + rounds, 20 * 41 + rounds * 3)


def check_verdicts(served, answered):
    """Check that answered verdicts are stored, and no sample has two."""
    stored = [sample_id for (sample_id,) in served.rows("SELECT sample_id FROM sample_labels")]
    assert len(answered) == len(set(answered)) > 0
    assert len(stored) == len(set(stored))
    assert set(answered) <= set(stored)
    judged = served.rows("SELECT count(*) FROM dataset_samples WHERE annotation_status = 'approved'")
    assert judged == [(len(stored),)]


def check_jobs(served, export_names):
    """Check that every job finished, and each requested export exists once."""
    states = served.rows("SELECT kind, state, count(*), max(message) FROM job_runs GROUP BY kind, state")
    assert {state for _kind, state, _count, _message in states} == {"finished"}, states
    exports = served.rows("SELECT export_name, state, count(*) FROM dataset_exports GROUP BY export_name, state")
    assert {state for _name, state, _count in exports} == {"ready"}, exports
    assert all(count == 1 for _name, _state, count in exports), exports
    assert export_names - {name for name, _state, _count in exports} == set()


def check_store(served, sessions, expected_events):
    """Check that every line of the OpenClaw home is stored once."""
    with closing(sqlite3.connect(next(served.home.path.glob("agents/main/agent/openclaw-agent.sqlite")))) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (sessions,)
        events = db.execute("SELECT count(*), count(DISTINCT session_id || ' ' || seq) FROM transcript_events")
        assert events.fetchone() == (expected_events, expected_events)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert served.rows("PRAGMA integrity_check") == [("ok",)]
