"""The list of the files of an agent's workspace."""

import re
from html import unescape

import orjson
import pytest

from ledger.models import PromptReport
from tests.factories import SessionFactory, SnapshotFactory, WorkspaceFileFactory

ADA = "/agents/ada/files/"
API = "/api/v1/agents/ada/files"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


def names(response):
    """The files that have a page, in order."""
    return re.findall(r'<a href="/agents/\w+/files/[^"]+">([^<]+)</a>', response.text)


def test_it_works(client):
    SnapshotFactory(content="old")
    SnapshotFactory(content="newer and longer")
    WorkspaceFileFactory()
    WorkspaceFileFactory(file_name="memory/2026-01-02.md")
    WorkspaceFileFactory(file_name="memory/2026-01-03.md")
    page = client.get(ADA)
    assert names(page) == ["MEMORY.md", "AGENTS.md", "memory/2026-01-03.md", "memory/2026-01-02.md"]
    assert "16 B" in page.text
    assert '<td class="num" data-label="Versions">2</td>' in page.text


def test_without_files_the_five_stand_there_as_never_seen(client):
    page = client.get(ADA)
    assert page.text.count("never seen") == 5
    assert names(page) == []


def test_what_the_last_prompt_said_of_a_file_is_shown(client):
    files = [{"name": "MEMORY.md", "truncated": True}, {"name": "USER.md", "missing": True}, 7, {"name": []}]
    report = PromptReport.objects.using("agent_ada").create(id="r", report_json=orjson.dumps({"files": files}).decode())
    SessionFactory(prompt_report=report)
    SessionFactory()
    SnapshotFactory()
    page = client.get(ADA).text
    assert "Cut off in the last prompt" in page
    assert "Missing in the last prompt" in page
    states = {file["name"]: file["in_prompt"] for file in client.get(API).json()["items"]}
    assert states == {"MEMORY.md": "cut", "USER.md": "missing", "SOUL.md": "", "IDENTITY.md": "", "TOOLS.md": ""}


@pytest.mark.parametrize("name", ["memory/a b.md", "memory/ä?#%2F&=+.md", "memory/<script>\u202e.md", "memory/\n.md"])
def test_whatever_a_file_is_called_it_has_an_address(client, name):
    WorkspaceFileFactory(file_name=name, content="what it holds")
    page = client.get(ADA).text
    assert "<script>\u202e" not in page
    address = re.search(r'<a href="(/agents/ada/files/memory[^"]+)">', page)[1]
    assert "what it holds" in client.get(unescape(address)).text


def test_pages_follow_each_other_without_loss_or_doubles(client):
    for number in range(70):
        WorkspaceFileFactory(file_name=f"notes/{number:03}.md")
    first = client.get(ADA)
    second = client.get(ADA, {"after": first.context["others"].next})
    assert names(first) + names(second) == [f"notes/{number:03}.md" for number in reversed(range(70))]
    assert "never seen" not in second.text
    back = client.get(ADA, {"before": second.context["others"].previous})
    assert names(back) == names(first)
    assert "never seen" in back.text
    assert client.get(ADA, {"after": "nonsense"}).status_code == 409


def test_daily_notes_are_one_group(client):
    for number in range(70):
        WorkspaceFileFactory(file_name=f"memory/{number:03}.md")
    WorkspaceFileFactory(file_name="roster.md")
    page = client.get(ADA).text
    before, _fold, group = page.partition('<details class="fold">')
    assert "roster.md" in before
    assert "memory/069.md" not in before
    assert "70 daily notes" in group
    assert "memory/069.md" in group
    assert "memory/049.md" not in group
    assert 'href="?folder=memory"' in group
    first = client.get(ADA, {"folder": "memory"})
    second = client.get(ADA, {"folder": "memory", "after": first.context["others"].next})
    assert names(first) + names(second) == [f"memory/{number:03}.md" for number in reversed(range(70))]
    assert "never seen" not in first.text


def test_the_api_says_the_same(client):
    SnapshotFactory()
    WorkspaceFileFactory(file_name="memory/1.md")
    WorkspaceFileFactory(file_name="memory/2.md")
    first = client.get(API, {"limit": 1}).json()
    assert [file["name"] for file in first["items"]][:: len(first["items"]) - 1] == ["MEMORY.md", "memory/2.md"]
    rest = client.get(API, {"limit": 1, "after": first["next"]}).json()
    assert [file["name"] for file in rest["items"]] == ["memory/1.md"]
    assert rest["next"] is None


def test_the_head_of_a_number_says_so_where_a_language_needs_it(client):
    SnapshotFactory()
    chinese = {"headers": {"accept-language": "zh-Hans"}}
    assert "版本数</th>" in client.get(ADA, **chinese).text
    assert "Versions</th>" in client.get(ADA).text
