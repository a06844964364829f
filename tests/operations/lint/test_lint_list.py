"""Lint of collected texts: the list, its links, the command and the API."""

import io
import json

import orjson
import pytest
from django.core.management import CommandError, call_command

from operations.lint import findings
from tests.factories import CronJobFactory, SnapshotFactory, WorkspaceFileFactory

URL = "/agents/ada/lint/"
API = "/api/v1/agents/ada/lint"
BAD = "Run openclaw status --json and report."
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of a person who may only look, with the agents ada and bob."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_it_works(client):
    CronJobFactory(id="night", name="Night watch", prompt=f"First look.\n{BAD}")
    WorkspaceFileFactory(id="1", file_name="AGENTS.md", content=f"# Rules\n\n{BAD}\nrm sessions/a.jsonl\n")
    SnapshotFactory(id="2", file_name="MEMORY.md", content="Paste the raw JSON here.")
    WorkspaceFileFactory(id="3", file_name="memory/fine.md", content="Never paste the raw JSON.")
    page = client.get(URL).text
    for place in ("cron/night/#prompt", "files/AGENTS.md/#L3", "files/AGENTS.md/#L4", "files/MEMORY.md/#L1"):
        assert f'href="/agents/ada/{place}"' in page
    for words in ("Night watch", "json-dump", "delete-sessions", "paste-json", "openclaw-web artifact stash"):
        assert words in page
    assert "memory/fine.md" not in page


def test_it_shows_nothing_of_others(client):
    CronJobFactory(id="bobs", agent_id="bob", prompt=BAD)
    WorkspaceFileFactory(db="agent_bob", content=BAD)
    assert "Nothing to check yet" in client.get(URL).text
    assert client.get("/agents/nobody/lint/").status_code == 404


def test_when_nothing_is_found_in_the_newest_version(client):
    WorkspaceFileFactory(id="old", content=BAD, created_at=1)
    WorkspaceFileFactory(id="new", content="Mended.", created_at=2)
    page = client.get(URL).text
    assert "No findings" in page and "delete-sessions" in page  # the page lists the rules


def test_many_files_are_several_pages(client, ada, monkeypatch):
    monkeypatch.setattr(findings, "FILES", 3)
    for number in range(5):
        WorkspaceFileFactory(id=f"v{number}", file_name=f"memory/{number}.md", content=BAD)
    CronJobFactory(prompt=BAD)
    first = client.get(URL)
    assert "memory/2.md" in first.text and "memory/3.md" not in first.text
    after = findings.read_page(ada).files.next
    rest = client.get(URL, {"after": after}).text
    assert "memory/4.md" in rest and "memory/2.md" not in rest and "Morning brief" not in rest
    assert client.get(URL, {"after": "nonsense"}).status_code == 409


def test_hostile_texts_are_escaped(client):
    WorkspaceFileFactory(file_name='<b>"&.md', content=f"<script>alert(1)</script>\u202e {BAD}")
    page = client.get(URL).text
    assert "<script>alert" not in page and "\u202e" not in page and "<b>" not in page


def test_the_page_of_a_job_names_the_lines(client):
    CronJobFactory(id="night", prompt=f"First look.\n{BAD}")
    page = client.get("/agents/ada/cron/night/").text
    assert "Line 2" in page and "JSON output in full" in page and 'id="prompt"' in page
    CronJobFactory(id="fine", prompt="Look.")
    assert "json-dump" not in client.get("/agents/ada/cron/fine/").text


def test_the_page_of_a_file_leads_to_the_lines(client):
    WorkspaceFileFactory(content="fine\n" * 1_200 + BAD)
    page = client.get("/agents/ada/files/AGENTS.md/").text
    assert 'href="?line=1201#L1201"' in page and "json-dump" in page
    assert 'href="#L1201"' in client.get("/agents/ada/files/AGENTS.md/?line=1190").text


def test_the_command(client):
    def run(*words):
        out = io.StringIO()
        try:
            call_command("artifact", "lint", "--collected", *words, stdout=out)
        except CommandError as exc:
            return exc.returncode, out.getvalue(), str(exc)
        return 0, out.getvalue(), ""

    assert run("--agent", "ada", "--json")[0] == 0
    CronJobFactory(id="night", prompt=BAD)
    for number in range(3):
        WorkspaceFileFactory(id=f"v{number}", file_name=f"memory/{number}.md", content=f"\n{BAD}")
    status, text, sentence = run("--agent", "ada", "--json")
    answer = json.loads(text)
    assert (status, sentence, answer["ok"], next(iter(answer))) == (1, "4 lines break a rule.", False, "schema")
    places = [(hit["file"], hit["line"], hit["rule"]) for hit in answer["hits"]]
    assert places == [("cron/night", 1, "json-dump"), *[(f"memory/{n}.md", 2, "json-dump") for n in range(3)]]
    assert "memory/1.md:2: json-dump" in run("--agent", "ada")[1]


def test_the_api(client):
    CronJobFactory(id="night", name="Night watch", prompt=BAD)
    for number in range(3):
        WorkspaceFileFactory(id=f"v{number}", file_name=f"memory/{number}.md", content=BAD)
    first = orjson.loads(client.get(API, {"limit": 2}).content)
    better = "Store the output and keep the handle: openclaw … --json | openclaw-web artifact stash"
    finding = {"kind": "job", "id": "night", "name": "Night watch", "line": 1, "rule": "json-dump"}
    assert first["items"][0] == finding | {"text": BAD, "better": better}
    assert [row["id"] for row in first["items"]] == ["night", "memory/0.md", "memory/1.md"]
    second = orjson.loads(client.get(API, {"limit": 2, "after": first["next"]}).content)
    assert ([row["id"] for row in second["items"]], second["next"]) == (["memory/2.md"], None)
