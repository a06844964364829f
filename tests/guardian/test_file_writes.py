"""Tool calls that wrote to a file, and the version each led to: page and API."""

import re

import orjson
import pytest

from tests.factories import T0, EventFactory, SessionFactory, SnapshotFactory

URL, API = "/agents/ada/files/MEMORY.md/", "/api/v1/agents/ada/files/writes?name=MEMORY.md"
HOUR = 3_600_000
pytestmark = pytest.mark.django_db


def call(session, number, tool, *, at, failed=None, db="agent_ada", **arguments):
    """Store a record with one call, and its result if `failed` is not None."""
    block = {"type": "toolCall", "id": f"c{number}", "name": tool, "arguments": arguments}
    record = {"type": "message", "id": f"a{number}", "message": {"role": "assistant", "content": [block]}}
    text = orjson.dumps(record).decode()
    columns = {"db": db, "session": session, "turn_number": 3, "created_at": at}
    EventFactory(**columns, seq=number * 2, kind="assistant", tool_call_count=1, event_json=text)
    if failed is not None:
        message = {"role": "toolResult", "toolCallId": f"c{number}", "content": [], "isError": failed}
        text = orjson.dumps({"type": "message", "id": f"r{number}", "message": message}).decode()
        EventFactory(**columns, seq=number * 2 + 1, kind="tool_result", is_failed=failed, event_json=text)


@pytest.fixture
def session(as_stranger, ada):
    """A session of ada, whose memory has two versions."""
    SnapshotFactory(id="v1", content="# Memory\n", created_at=T0)
    SnapshotFactory(id="v2", content="# Memory\nMei likes coffee\n", created_at=T0 + 2 * HOUR)
    return SessionFactory(id="s/1", title="<b>Main</b> chat")


def read_writes(client):
    return [(w["record_id"], w["version_id"], w["is_certain"], w["is_failed"]) for w in client.get(API).json()["items"]]


def test_text_is_certain_and_time_is_near(as_stranger, session):
    edit = {"oldText": "# Memory\n", "newText": "# Memory\nMei likes coffee\n"}
    call(session, 1, "edit", at=T0 + HOUR, failed=False, path="MEMORY.md", **edit)
    call(session, 2, "write", at=T0 + 2 * HOUR - 5_000, path="/home/ada/MEMORY.md", content="something else")
    call(session, 3, "write", at=T0 + HOUR + 1, path="./MEMORY.md", content="something else")
    call(session, 4, "edit", at=T0 + HOUR + 2, failed=True, path="MEMORY.md", **edit)
    call(session, 5, "edit", at=T0 + 9 * HOUR, path="MEMORY.md", **edit)
    assert read_writes(as_stranger) == [
        ("a5", None, False, False),
        ("a2", "v2", False, False),
        ("a4", None, False, True),
        ("a3", None, False, False),
        ("a1", "v2", True, False),
    ]
    page = as_stranger.get(URL).text
    address = "/agents/ada/sessions/s%2F1/?record=a1#r-a1"
    assert f'<a href="{address}">&lt;b&gt;Main&lt;/b&gt; chat, turn 3</a>' in page
    assert page.count(">Certain</span>") == 1
    assert page.count(">Near in time</span>") == 1
    assert "and 1 more call<" in page.split('id="versions"')[1]


def test_the_text_stands_above_what_changed(as_stranger, session):
    page = as_stranger.get(URL).text
    assert page.index('id="content"') < page.index('id="changes"') < page.index('id="writes"')
    assert "No tool call in the imported transcripts wrote to this file." in page


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "MEMORY.md"}),
        ("write", {"path": "OLD-MEMORY.md", "content": "x"}),
        ("write", {"path": "notes.md", "content": "see MEMORY.md"}),
        ("write", {"path": ["MEMORY.md"]}),
        ("edit", {"path": None, "edits": "MEMORY.md"}),
    ],
)
def test_other_calls_are_not_listed(as_stranger, session, tool, arguments):
    call(session, 1, tool, at=T0 + HOUR, **arguments)
    assert read_writes(as_stranger) == []


def test_a_patch_names_its_files(as_stranger, session):
    patch = "*** Begin Patch\n*** Update File: MEMORY.md\n+Mei likes coffee\n*** End Patch"
    call(session, 1, "apply_patch", at=T0 + 2 * HOUR - 1, input=patch)
    assert read_writes(as_stranger) == [("a1", "v2", False, False)]


def test_a_search_ends_after_a_while_and_goes_on_when_asked(as_stranger, session, monkeypatch):
    monkeypatch.setattr("guardian.tool_writes.WINDOW", 5)
    call(session, 1, "write", at=T0 - HOUR, path="MEMORY.md", content="first words of it")
    for number in range(2, 9):
        call(session, number, "read", at=T0 + number, path="MEMORY.md")
    page = as_stranger.get(URL).text
    assert "5 records were searched." in page
    following = re.search(r'href="(\?older=[^"#]+)#writes"', page)[1]
    assert ">write</span>" not in page
    assert ">write</span>" in as_stranger.get(URL + following).text
    assert as_stranger.get(f"{URL}?older=nonsense").status_code == 409
