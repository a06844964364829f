"""One file of a workspace: what it holds, its versions, and what changed between two."""

import re
from html import unescape

import pytest

from guardian.models import RollbackIntent
from openclaw_web.diffs import text_excerpts
from tests.factories import T0, DecisionFactory, SnapshotFactory, WorkspaceFileFactory
from tests.guardian.write_rows import create_write

URL = "/agents/ada/files/MEMORY.md/"
API = "/api/v1/agents/ada/files"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada, bob):
    """A browser of somebody who may only look; ada and bob are there."""
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def three(ada):
    """Three versions of a file, the oldest first."""
    texts = ("# Memory\n", "# Memory\nMei likes tea\n", "# Memory\nMei likes coffee\n")
    return [SnapshotFactory(content=text) for text in texts]


def test_a_version_leads_to_the_decision_behind_its_write(client):
    DecisionFactory(id="d1", session_id="s1", decision="UPDATE_MEMORY")
    (
        create_write("agent_ada", 1, None, b"tea\n", decision_id="d1"),
        create_write("agent_ada", 2, b"tea\n", b"milk\n", decision_id="d2"),
    )
    page = client.get(URL).text
    assert re.search(r'href="/agents/ada/gate/d1/"><span class="badge[^>]+>UPDATE_MEMORY<', page)
    assert "/gate/d2/" not in page, "a decision that is not stored has no page"


def test_it_works(client, three):
    page = client.get(URL).text
    assert "3 versions" in page
    assert '<span id="L2"></span><p>Mei likes coffee</p>' in page
    exact = '<a class="lines__no" tabindex="-1" id="L2" href="#L2">2</a><div class="lines__text">Mei likes coffee</div>'
    assert exact in client.get(URL, {"exact": "on"}).text
    assert "Mei likes <del>tea</del>" in page
    assert "Mei likes <ins>coffee</ins>" in page
    assert page.count('type="radio" name="from"') == 3
    assert f'name="to" value="{three[2].id}"' in page


def test_any_two_versions_are_compared(client, three):
    page = client.get(URL, {"from": three[0].id, "to": three[2].id}).text
    assert "+1<" in page
    assert "−0<" in page
    back = client.get(URL, {"from": three[2].id, "to": three[0].id}).text
    assert "−1<" in back


def test_one_version_is_compared_with_the_one_before_it(client, three):
    page = client.get(URL, {"to": three[1].id, "version": three[1].id}).text
    assert "Mei likes tea" in page
    assert "coffee" not in page
    first = client.get(URL, {"to": three[0].id}).text
    assert "The file did not exist before." in first


def test_what_was_written_into_a_displaced_file_is_not_what_a_version_is_compared_with(client, three):
    columns = {"id": "i1", "file_name": "MEMORY.md", "audits_json": "[]", "draft_name": ".x", "created_at": 1}
    RollbackIntent.objects.using("agent_ada").create(**columns, meanwhile_json=f'["{three[1].id}"]')
    assert "Mei likes" not in re.sub("<ins>.*?</ins>|Mei likes coffee", "", client.get(URL).text)
    comparison = client.get(f"{API}/diff", {"to": three[2].id}).json()
    assert (comparison["old"]["id"], comparison["added"], comparison["removed"]) == (three[0].id, 1, 0)
    assert client.get(f"{API}/diff", {"to": three[1].id}).json()["old"]["id"] == three[0].id


def test_a_first_version_is_compared_with_nothing_unless_asked(client):
    only = SnapshotFactory()
    assert "There is no earlier version to compare" in client.get(URL).text
    assert "The file did not exist before" in client.get(URL, {"to": only.id}).text


def test_of_versions_of_the_same_moment_each_has_one_before(client):
    same = sorted(SnapshotFactory(content=text, created_at=T0).id for text in "abc")
    befores = [client.get(URL, {"to": version_id}).context["file_request"].old for version_id in same]
    assert [before and before.id for before in befores] == [None, *same[:2]]


@pytest.mark.parametrize("name", ["from", "to", "version", "download"])
@pytest.mark.parametrize("value", ["nothing", "a\0b", "x" * 1_001, "\ud83d"])
def test_versions_that_are_not_there_are_not_found(client, three, name, value):
    assert client.get(URL, {name: value.encode("utf-8", "surrogatepass")}).status_code == 404


def test_versions_of_other_files_and_agents_are_not_found(client, three):
    other = WorkspaceFileFactory(content="other")
    bobs = SnapshotFactory(db="agent_bob", content="bobs")
    for version in (other, bobs):
        assert client.get(URL, {"to": version.id}).status_code == 404
        assert client.get(URL, {"download": version.id}).status_code == 404


@pytest.mark.parametrize("name", ["NOTES.md", "../USER.md", "memory.md", "MEMORY.md/x", "%00", "a%0Ab", "MEMORY.md%20"])
def test_files_that_were_never_seen_are_not_found(client, three, name):
    assert client.get(f"/agents/ada/files/{name}/").status_code == 404


def test_a_file_is_downloaded_whole(client, three):
    response = client.get(URL, {"download": three[1].id})
    assert response.content == b"# Memory\nMei likes tea\n"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="MEMORY.md"'
    version = WorkspaceFileFactory(file_name='memory/x"\r\n早.md', content="<script>1</script>")
    hostile = client.get("/agents/ada/files/memory/x%22%0D%0A%E6%97%A9.md/", {"download": version.id})
    assert hostile.status_code == 200
    assert "attachment" in hostile["Content-Disposition"]


def test_what_a_file_holds_is_shown_and_does_nothing(client):
    SnapshotFactory(content="<script>alert(1)</script>\n\u202e\x1b[2J\r\n", is_lossy=True)
    page = client.get(URL).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "Not all of this file is UTF-8 text" in page


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| 1 | 2 | SECRET |\n",
        '[a link](http://x.example "SECRET")\n',
        "[](http://x.example/SECRET)\n",
        "```py SECRET\nx\n```\n",
    ],
)
def test_a_document_hides_nothing_that_the_agent_reads(client, text):
    SnapshotFactory(content=text)
    page = client.get(URL).text
    document = page[page.index('<table class="doc"') :].partition("<section")[0]
    assert "SECRET" in re.sub(r"<[^>]*>", "", document)


def test_an_empty_file_says_so(client):
    SnapshotFactory(content="")
    assert "The file is empty." in client.get(URL).text


def test_a_long_file_is_read_in_pieces(client):
    SnapshotFactory(content="".join(f"line {number}\n" for number in range(1, 2_501)))
    page, seen = client.get(URL), []
    while True:
        seen += map(int, re.findall(r'id="L(\d+)"', page.text))
        following = re.search(r'href="(\?line=\d+)">Next lines', page.text)
        if not following:
            break
        page = client.get(URL + following[1])
    assert seen == list(range(1, 2_501))
    assert client.get(URL, {"line": 2_501}).status_code == 404
    assert client.get(URL, {"line": 10**30}).status_code == 404
    assert client.get(URL, {"line": 0}).status_code == 404


def test_a_page_of_a_huge_file_stays_small(client):
    SnapshotFactory(content=("早" * 5_000 + "\n") * 200)
    SnapshotFactory(content="x" * 5_000_000)
    page = client.get(URL)
    assert len(page.content) < 2_000_000
    assert "characters more" in page.text


def test_pieces_make_up_the_text():
    text, first, lines = "ab\r\ncd\n\n" * 3_000 + "end", 1, []
    while first:
        piece = text_excerpts.cut_excerpt(text, first)
        lines += piece.lines
        first = piece.next
    assert lines == text.replace("\r\n", "\n").split("\n")


def test_versions_follow_each_other_and_the_chosen_ones_stay_chosen(client):
    versions = [SnapshotFactory(content=f"words {number}") for number in range(120)]
    first = client.get(URL)
    version_ids = re.findall(r'type="radio" name="to" value="([^"]+)"', first.text)
    chosen = {"from": versions[0].id, "to": versions[119].id, "after": first.context["events"].next}
    second = client.get(URL, chosen)
    version_ids += re.findall(r'type="radio" name="to" value="([^"]+)"', second.text)
    assert list(map(unescape, version_ids)) == [version.id for version in reversed(versions)]
    assert f'type="hidden" name="to" value="{versions[119].id}"' in second.text
    assert client.get(URL, {"after": "nonsense"}).status_code == 409


def test_the_api_says_the_same(client, three):
    versions = client.get(f"{API}/versions", {"name": "MEMORY.md"}).json()["items"]
    assert [version["id"] for version in versions] == [version.id for version in reversed(three)]
    assert client.get(f"{API}/version", {"id": three[1].id}).json()["content"] == three[1].content
    answer = client.get(f"{API}/diff", {"to": three[2].id}).json()
    assert (answer["old"]["id"], answer["added"], answer["removed"], answer["left"]) == (three[1].id, 1, 1, 0)
    assert answer["unified"] == (
        "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,2 +1,2 @@\n # Memory\n-Mei likes tea\n+Mei likes coffee\n"
    )
    line = answer["hunks"][0]["lines"][2]
    assert (line["kind"], line["old"], line["new"], line["changed"]) == ("added", None, 2, [[10, 16]])
    assert client.get(f"{API}/diff", {"to": three[0].id}).json()["unified"].startswith("--- /dev/null\n")


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("versions?name=never.md", 404),
        ("versions", 422),
        ("version?id=never", 404),
        ("version?id=%00", 404),
        ("diff?to=never", 404),
        ("diff", 422),
        ("versions?name=MEMORY.md&after=x", 409),
    ],
)
def test_the_api_refuses_what_is_not_there(client, three, address, status):
    assert client.get(f"{API}/{address}").status_code == status


def test_the_api_compares_no_two_files(client, three):
    other = WorkspaceFileFactory()
    assert client.get(f"{API}/diff", {"from": other.id, "to": three[0].id}).status_code == 404
