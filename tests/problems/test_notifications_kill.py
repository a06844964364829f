"""Notifications in real processes: killed while a message is on its way, and two at once."""

import os
import sqlite3
from contextlib import closing

import pytest

from tests.llm_endpoint import Endpoint, sends
from tests.processes import Home, wait_for

pytestmark = pytest.mark.kill
SECRET = "-".join(["whsec", "9876543210"])
PLANT = """
from openclaw_web import clock
from people.configuration import setting_values as configuration
from problems import check_pass
from tests.factories import JobFactory
configuration.put("schedule.notifyMinutes", 1)
now = clock.now_ms()
JobFactory(kind="collect", started_by="mei", state="failed", message="canary", created_at=now, finished_at=now)
print(check_pass.check_all())
"""
BESIDE = """
import pathlib
from operations.notifications import outbox
print("ready", flush=True)
while not pathlib.Path({go!r}).exists():
    pass
outbox.collect_problems()
print("sent:", outbox.send_due()[0])
"""


@pytest.fixture
def site(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    with Endpoint(sends(b"")) as home.receiver:
        home.env |= {"OPENCLAW_WEB_WEBHOOK_URL": home.receiver.root, "OPENCLAW_WEB_WEBHOOK_SECRET": SECRET}
        home.python(PLANT)
        yield home
        home.close()


def test_a_message_whose_sender_was_killed_is_repeated_with_its_id(site):
    site.receiver.then(lambda handler: os.kill(site.worker.pid, 9), sends(b""))
    site.worker = site.start("work")
    assert site.worker.end() == -9 and len(site.receiver.requests) == 1
    assert site.count("SELECT attempts FROM notifications") == 1
    site.worker = site.start("work")  # it ends the job, and waits for the time of the next try
    wait_for(lambda: site.count("SELECT count(*) FROM job_runs WHERE state = 'finished' AND kind = 'notifications'"))
    assert len(site.receiver.requests) == 1
    with closing(sqlite3.connect(site.path / "state" / "openclaw.sqlite")) as db, db:
        db.execute("UPDATE notifications SET tried_at = tried_at - 120000")
        db.execute("UPDATE job_runs SET created_at = created_at - 120000 WHERE kind = 'notifications'")
    wait_for(lambda: site.count("SELECT count(*) FROM notifications") == 0)
    first, second = site.receiver.requests
    assert first.body == second.body and b"canary" not in first.body
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    output = "".join(process.said for process in site.processes)
    assert SECRET not in output and str(site.receiver.port) not in output.replace(str(site.worker.pid), "")


def test_two_that_send_at_once_send_each_message_once(site, tmp_path):
    go = tmp_path / "go"
    both = [site.start("shell", "--no-imports", "-c", BESIDE.format(go=str(go))) for _number in range(2)]
    wait_for(lambda: all("ready" in process.said for process in both))
    go.touch()
    assert [process.end() for process in both] == [0, 0], [process.said for process in both]
    assert sum(int(process.said.split()[-1]) for process in both) == 1 and len(site.receiver.requests) == 1
