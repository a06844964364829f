"""The list of an agent's artifacts."""

import json
import re

import orjson
import pytest

from artifacts import services
from artifacts.contents.content_types import KNOWN
from artifacts.services import Place
from artifacts.words import CONTENT_WORDS
from people.configuration import setting_values as configuration
from tests.factories import EventFactory, SessionFactory

ADA, DB = "/agents/ada/artifacts/", "agent_ada"
T0 = 1_767_571_200_000
pytestmark = pytest.mark.django_db


def stash(text, db=DB, *, at=None, **place):
    with services.open_stash_batch(db) as batch:
        row, _stored = batch.add(text, place=Place(**place), at=at)
    return row


def number(count, **place):
    """An artifact of its own size and time."""
    return stash(f"number {count}\n" * (count + 1), at=T0 + count, **place)


def read_counts(response):
    """The line counts of the summaries on a page, in order: `number(3)` has four lines."""
    return [int(lines) - 1 for lines in re.findall(r"bytes · (\d+) lines?<", response.text)]


def test_it_works(client):
    number(3, session_id="s/1", tool="exec")
    row = stash("<html><title>A page</title>", at=T0, session_id="s2")
    page = client.get(ADA)
    for words in ("2 artifacts of ada", "text · 36 bytes · 4 lines", "title: A page", ">exec<", ">Web page<", ">Text<"):
        assert words in page.text
    for words in ("tool_output", "Lines"):
        assert words not in page.text.split("<tbody>")[1]
    assert f'href="/agents/ada/artifacts/{row.sha256}/"' in page.text
    assert 'href="/agents/ada/sessions/s%2F1/"' in page.text


def test_a_text_shows_how_it_begins(client):
    stash("\n  first \u202e<b>line\nsecond\n" * 300)
    stash('{"rows": [1, 2]}')
    stash(bytes(range(256)))
    page = client.get(ADA).text
    assert '<div class="muted small mono break off-card">first ‹U+202E› &lt;b&gt;line second' in page
    assert page.count("small mono break") == 1


def build_message(session, record, *content, parent=None, role="assistant", **about):
    message = {"role": role, "content": list(content), **about}
    return {"type": "message", "id": record, "parentId": parent, "timestamp": T0, "message": message}


@pytest.fixture
def tool_outputs(client):
    """A session whose agent used two tools in one answer; both outputs are artifacts.

    One tool ran a command, the other fetched a page.
    """
    session = SessionFactory(id="s1", title="Flour \u202e prices")
    calls = [
        {"type": "toolCall", "id": "c1", "name": "exec", "arguments": {"command": "ls <b>\u202e\n--all"}},
        {"type": "toolCall", "id": "c2", "name": "web_fetch", "arguments": {"url": "https://bakery.example/?q=1"}},
    ]
    rows = [
        ("assistant", build_message("s1", "a1", *calls), 2),
        ("tool_result", build_message("s1", "r1", role="toolResult", toolCallId="c1"), 0),
        ("tool_result", build_message("s1", "r2", role="toolResult", toolCallId="c2"), 0),
    ]
    for seq, (kind, record, count) in enumerate(rows):
        text = orjson.dumps(record).decode()
        about = {"kind": kind, "event_id": record["id"], "tool_call_count": count}
        EventFactory(session=session, seq=seq, event_json=text, **about)
    first = stash("x" * 99, at=T0, session_id="s1", record_id="r1", tool="exec", tool_call_id="c1")
    second = stash("y" * 99, at=T0 + 1, session_id="s1", record_id="r2", tool="web_fetch", tool_call_id="c2")
    stash("z" * 99, at=T0 + 2, session_id="s1", record_id="r2", tool="exec", tool_call_id="c9")
    return first, second


def test_an_artifact_is_called_what_the_agent_ran(client, tool_outputs):
    page = client.get(ADA).text.split("<tbody>")[1]
    names = re.findall(r'<a class="clamp[^"]*" href="/agents/ada/artifacts/\w{64}/">(.*?)</a>', page)
    command = 'ls &lt;b&gt;<span class="glyph">U+202E</span> --all'
    assert names == ["Text", "https://bakery.example/?q=1", command]
    assert page.count('>Flour <span class="glyph">U+202E</span> prices</a>') == 3
    for row, name in zip(tool_outputs, (command, "https://bakery.example/?q=1"), strict=True):
        detail = client.get(f"{ADA}{row.sha256}/").text
        assert f'<h1><span class="clamp mono">{name}</span></h1>' in detail
        assert "prices</a>" in detail


def test_a_content_is_shown_once_at_its_latest_use(client):
    for n in range(3):
        stash("the same\n" * 3, at=T0 + n, session_id=f"s{n}", record_id=f"r{n}")
    page = client.get(ADA)
    assert "1 artifact of ada" in page.text
    assert "sessions/s2/" in page.text
    assert re.search(r'data-label="Uses">3<', page.text)
    assert "sessions/s1/" in client.get(f"{ADA}?session=s1").text
    assert "3 artifacts of ada" in client.get(f"{ADA}?each=on").text


def test_a_handle_is_found(client):
    number(1)
    row = number(2)
    assert read_counts(client.get(ADA, {"q": row.handle})) == [2]


def test_what_the_operator_does_not_count_is_not_flagged(client):
    row = stash("a token of thanks")
    assert row.sha256 in client.get(f"{ADA}?flagged=on").text
    configuration.put("artifacts.flaggedKinds", ["jwt"])
    assert row.sha256 not in client.get(f"{ADA}?flagged=on").text
    assert "May contain secrets" not in client.get(ADA).text
    configuration.put("artifacts.flaggedKinds", [])
    assert row.sha256 not in client.get(f"{ADA}?flagged=on").text


def test_what_is_used_very_often_is_not_counted_to_the_end(client, monkeypatch):
    monkeypatch.setattr("artifacts.artifact_list.USES_COUNTED", 5)
    for n in range(7):
        stash("again\n", at=T0 + n, session_id=f"s{n}")
    assert re.search(r'data-label="Uses">5\+<', client.get(ADA).text)


def test_kinds_and_types_are_said_in_words(client):
    assert CONTENT_WORDS.keys() >= set(KNOWN)
    services.stash("agent_ada", "a system prompt", kind="system_prompt", place=Place(session_id="s1"))
    page = client.get("/agents/ada/artifacts/", {"kind": "system_prompt"}).text
    assert '<span class="badge badge--plain">System prompt</span>' in page
    assert '<option value="text/html">Web page</option>' in page
    assert json.loads(client.get("/agents/ada/artifacts/?format=json").getvalue())[0]["kind"] == "system_prompt"
