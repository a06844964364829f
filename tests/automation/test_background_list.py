"""Work in the background of an agent."""

import pytest

from automation.models import DeliveryQueueEntry, FlowRun, TaskRun
from tests.factories import T0

BACKGROUND = "/agents/ada/background/"
HOSTILE = "<script>alert(1)</script>\u202e\x07"
pytestmark = pytest.mark.django_db


def create_task(**more):
    values = {"agent_id": "ada", "label": "Task 1", "status": "failed", "created_at": T0 + 1}
    return TaskRun.objects.create(task_id="t1", **values | more)


def test_it_works(client):
    create_task(error="out of luck", started_at=T0, ended_at=T0 + 4_200)
    page = client.get(BACKGROUND).text
    for words in ("Task 1", "out of luck", "failed", "4.2 s"):
        assert words in page
    FlowRun.objects.create(flow_id="f", agent_id="ada", goal="Ship it", status="running", created_at=T0)
    DeliveryQueueEntry.objects.create(queue_name="q", id="d", agent_id="ada", channel="irc", retry_count=4)
    assert "Ship it" in client.get(BACKGROUND, {"kind": "flows"}).text
    assert "irc" in client.get(BACKGROUND, {"kind": "deliveries"}).text


def test_without_anything_it_says_what_will_be_here(client):
    for kind in ("", "flows", "deliveries", "files", "nonsense"):
        assert "Nothing here yet" in client.get(BACKGROUND, {"kind": kind}).text


def test_hostile_text(client):
    create_task(label=HOSTILE, error=HOSTILE, status=HOSTILE, terminal_summary=HOSTILE)
    page = client.get(BACKGROUND).text
    assert "<script>alert" not in page and "\u202e" not in page
