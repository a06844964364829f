"""Work in the background of an agent, and what its databases keep."""

import re

import pytest

from ledger.models import IndexedFile, VfsEntry
from operations.models import DeliveryQueueEntry, FlowRun, TaskRun
from tests.factories import T0

BACKGROUND, STORED = "/agents/ada/background/", "/agents/ada/stored/"
HOSTILE = "<script>alert(1)</script>\u202e\x07"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


def task(number=1, **more):
    values = {"agent_id": "ada", "label": f"Task {number}", "status": "failed", "created_at": T0 + number}
    return TaskRun.objects.create(task_id=f"t{number:03}", **values | more)


def test_it_works(client):
    task(error="out of luck", started_at=T0, ended_at=T0 + 4_200)
    page = client.get(BACKGROUND).text
    for words in ("Task 1", "out of luck", "failed", "4.2 s"):
        assert words in page


def test_flows_and_deliveries(client):
    FlowRun.objects.create(flow_id="f", agent_id="ada", goal="Ship it", status="running", created_at=T0)
    DeliveryQueueEntry.objects.create(queue_name="q", id="d", agent_id="ada", channel="irc", retry_count=4)
    assert "Ship it" in client.get(BACKGROUND, {"kind": "flows"}).text
    assert "irc" in client.get(BACKGROUND, {"kind": "deliveries"}).text


def test_what_is_stored(client):
    IndexedFile.objects.using("agent_ada").create(
        database="d", source="memory", path="MEMORY.md", chunk_count=12, size_bytes=4200
    )
    VfsEntry.objects.using("agent_ada").create(namespace="workspace", path="notes/today.md", bytes=17)
    page = client.get(STORED).text
    for words in ("MEMORY.md", "12", "4.2 kB"):
        assert words in page
    assert "notes/today.md" in client.get(STORED, {"kind": "files"}).text
    assert "MEMORY.md" not in client.get("/agents/bob/stored/").text


def test_without_anything_it_says_what_will_be_here(client):
    for address in (BACKGROUND, STORED):
        for kind in ("", "flows", "deliveries", "files", "nonsense"):
            assert "Nothing here yet" in client.get(address, {"kind": kind}).text


def test_it_asks_for_a_sign_in(client):
    client.logout()
    for address in (BACKGROUND, STORED):
        assert client.get(address)["Location"].startswith("/sign-in/")


def test_hostile_text(client):
    task(label=HOSTILE, error=HOSTILE, status=HOSTILE, terminal_summary=HOSTILE)
    page = client.get(BACKGROUND).text
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_pages(client):
    for number in range(120):
        task(number)
    first = client.get(BACKGROUND)
    assert len(first.context["rows"]) == 50
    after = re.search(r'href="\?after=([^"]+)" rel="next"', first.text)[1]
    second = client.get(BACKGROUND, {"after": after})
    assert second.context["rows"][0].title == "Task 69"
    assert client.get(BACKGROUND, {"after": "nonsense"}).status_code < 500
    assert client.get(BACKGROUND, {"after": after, "kind": "flows"}).status_code < 500


@pytest.mark.parametrize("count", [1, 30])
def test_as_many_queries_with_one_row_as_with_many(client, count, django_assert_max_num_queries):
    for number in range(count):
        task(number)
    client.get(BACKGROUND)
    with django_assert_max_num_queries(6):
        client.get(BACKGROUND)
