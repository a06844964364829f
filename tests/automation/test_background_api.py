"""The API of background work, and of rows that databases contain beside sessions."""

import pytest

from automation.models import DeliveryQueueEntry, FlowRun, TaskRun
from ledger.models import IndexedFile, VfsEntry
from tests.factories import T0

ADA = "/api/v1/agents/ada/"
LISTS = ("tasks", "flows", "deliveries", "memory-index", "vfs")
pytestmark = pytest.mark.django_db


def get_items(client, name, **query):
    return client.get(ADA + name, query).json()["items"]


def test_it_works(client):
    TaskRun.objects.create(task_id="t", agent_id="ada", task="Look", status="failed", created_at=T0, started_at=T0)
    FlowRun.objects.create(flow_id="f", agent_id="ada", goal="Ship it", status="running", created_at=T0)
    DeliveryQueueEntry.objects.create(queue_name="q", id="d", agent_id="ada", channel="irc", retry_count=4)
    IndexedFile.objects.using("agent_ada").create(database="d", source="memory", path="MEMORY.md", chunk_count=12)
    VfsEntry.objects.using("agent_ada").create(namespace="workspace", path="notes.md", bytes=17, handle="h")
    expected = {
        "tasks": {"task_id": "t", "task": "Look", "started_at": T0, "ended_at": None},
        "flows": {"flow_id": "f", "goal": "Ship it", "status": "running"},
        "deliveries": {"id": "d", "channel": "irc", "retry_count": 4},
        "memory-index": {"path": "MEMORY.md", "chunk_count": 12},
        "vfs": {"namespace": "workspace", "path": "notes.md", "handle": "h"},
    }
    for name in LISTS:
        (item,) = get_items(client, name)
        assert item | expected[name] == item and "target" not in item, name
        assert client.get(f"/api/v1/agents/bob/{name}").json()["items"] == []


def test_pages(client):
    for number in range(7):
        TaskRun.objects.create(task_id=f"t{number}", agent_id="ada", created_at=T0)
        VfsEntry.objects.using("agent_ada").create(namespace="w", path=f"{number}")
    for name, field, expected in (("tasks", "task_id", "t6 t5 t4 t3 t2 t1 t0"), ("vfs", "path", "0 1 2 3 4 5 6")):
        seen, query = [], {"limit": 3}
        while query.get("after", "") is not None:
            page = client.get(ADA + name, query).json()
            seen += [item[field] for item in page["items"]]
            query["after"] = page["next"]
        assert seen == expected.split()


def test_an_answer_is_bounded_by_its_size_as_well(client):
    for number in range(30):
        TaskRun.objects.create(task_id=f"t{number:02}", agent_id="ada", task="x" * 200_000, created_at=T0)
    page = client.get(ADA + "tasks").json()
    assert 0 < len(page["items"]) < 10
    assert page["next"]


@pytest.mark.parametrize("name", LISTS)
def test_places_that_no_list_gave_out(client, name):
    for place in ("nonsense", "W10", "WzEsMiwzXQ", "WyJhIiwyXQ", "W251bGxd"):
        assert client.get(ADA + name, {"after": place}).status_code in (200, 409)
    assert client.get(ADA + name, {"limit": 10**30}).status_code == 422
    client.logout()
    assert client.get(ADA + name).status_code == 401
