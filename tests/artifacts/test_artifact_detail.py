"""The page of an artifact: metadata, excerpts, uses, and the actions of admins."""

import re
from html import unescape

import orjson
import pytest

from artifacts import services
from artifacts.models import Artifact
from artifacts.services import Place
from artifacts.store import blobs, layout
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry

DB = "agent_ada"
HTMX = {"HX-Request": "true"}
LINES = "".join(f"line {n}: something was read here\n" for n in range(1, 2001))
HOSTILE = (
    "<html><script>alert(1)</script><body onload=x>",
    "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "left \u202eright\u2066 \x07\x1b[31m bell",
    "</pre></section><img src=x onerror=alert(1)>",
    "x" * 300_000,
    "",
    "\n" * 5000,
    '{"__proto__": {"a": "</script>"}}',
    b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
    b"\xff\xfe<\x00s\x00c\x00r\x00i\x00p\x00t\x00>\x00",
    b"%PDF-1.7 <script>",
)
pytestmark = pytest.mark.django_db


def stash(content, *, is_compressed=False, **place):
    return services.stash(DB, content, place=Place(**place), is_compressed=is_compressed)[0]


def build_page_address(row, agent="ada"):
    return f"/agents/{agent}/artifacts/{row.sha256}/"


def read_part(response):
    """The text that a page shows of a content."""
    return unescape(re.search(r'<pre id="part-[^>]*>(.*?)</pre>', response.text, re.DOTALL)[1])


def build_path(row):
    """The file of a content."""
    return layout.get_root() / "blobs" / "sha256" / row.sha256[:2] / row.sha256[2:4] / f"{row.sha256}.txt"


def test_it_works(client):
    row = stash(LINES, session_id="s1", turn_id="s1:u1", record_id="r/2", tool="exec", tool_call_id="c")
    page = client.get(build_page_address(row))
    assert page.status_code == 200
    for words in (
        row.handle,
        "text/plain",
        "2,000 lines",
        "Used once",
        "exec",
        "none found",
        "the whole content was read",
    ):
        assert words in page.text
    for address in (
        "../../sessions/s1/",
        "../../sessions/s1/?record=u1#r-u1",
        "../../sessions/s1/?record=r%2F2#r-r%2F2",
    ):
        assert f'href="{address}"' in page.text
    assert read_part(page).startswith("line 1:")
    assert read_part(page).endswith("line 2000: something was read here\n")
    assert re.search(r"Omitted in the middle: [\d,]+ characters\.", page.text)


def test_the_part_alone_is_for_htmx(client):
    row = stash(LINES)
    swapped = client.get(build_page_address(row), {"part": 1}, headers=HTMX)
    assert swapped.text.lstrip().startswith('<div class="look')
    assert "<html" in client.get(build_page_address(row), {"part": 1}).text
    assert "<html" in client.get(build_page_address(row), headers=HTMX).text


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ({"mode": "range", "lines": "7:9"}, "line 7:", "here\n"),
        ({"mode": "grep", "pattern": "LINE 1999", "ignore_case": "on"}, "1999:line 1999", "here\n"),
        ({"mode": "grep", "pattern": "line 19:", "context": 1}, "18-line 18", "here\n"),
    ],
)
def test_every_mode(client, query, first, last):
    row = stash(LINES, is_compressed=True)
    text = read_part(client.get(build_page_address(row), query))
    assert text.startswith(first)
    assert text.endswith(last)


def test_a_path(client):
    row = stash(orjson.dumps({"items": [{"name": "one"}, {"name": "two"}]}))
    page = client.get(build_page_address(row), {"mode": "jsonpath", "path": "$.items[*].name"})
    assert "2 matches" in page.text
    assert '"two"' in read_part(page)


def test_going_on_gives_everything_once(client):
    row = stash(LINES)
    seen, address = "", f"{build_page_address(row)}?mode=head"
    while address:
        page = client.get(address)
        seen += read_part(page)
        link = re.search(r'href="([^"]*)"[^>]*rel="next">Show more', page.text)
        address = unescape(link[1]) if link else None
    assert seen == LINES


def test_fields_of_other_modes_do_not_count(client):
    row = stash(LINES)
    query = {"mode": "head", "lines": "x", "pattern": "(", "path": "?", "context": 3, "ignore_case": "on", "reason": ""}
    assert client.get(build_page_address(row), query).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        {"mode": "grep", "pattern": "("},
        {"mode": "grep", "pattern": "a\x00b"},
        {"mode": "sideways"},
        {"mode": "head", "offset": "9" * 5000},
        {"max_chars": "many"},
        {"max_chars": 9000},
    ],
)
def test_what_cannot_be_asked_is_said_in_place(client, query):
    row = stash(LINES)
    page = client.get(build_page_address(row), query)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert row.handle in page.text
    assert client.get(build_page_address(row), {**query, "part": 1}, headers=HTMX).status_code == 422


def test_more_than_usual_needs_a_reason_and_is_recorded(client):
    row = stash(LINES)
    page = client.get(build_page_address(row), {"max_chars": 12_000, "reason": "the whole log"})
    assert len(read_part(page)) == 12_000
    entry = AuditEntry.objects.get(action="fetched")
    assert (entry.actor, entry.object_id, entry.agent_id) == ("stranger", row.handle, "ada")
    assert orjson.loads(entry.detail_json)["reason"] == "the whole log"


@pytest.mark.parametrize("content", HOSTILE)
@pytest.mark.parametrize("mode", ["headtail", "head", "tail"])
def test_whatever_it_holds_is_only_text(client, content, mode):
    row = stash(content, session_id='"><script>x', record_id="<b>", tool="<i>\u202e")
    page = client.get(build_page_address(row), {"mode": mode})
    assert page.status_code == 200
    body = page.text.partition("<main")[2]
    for evil in ("<script", "<svg xmlns", "<img", "<i>", "<b>", "\u202e", "\x07", "onload=x>"):
        assert evil not in body.replace("<svg xmlns='http", "<svg xmlns") or evil == "<svg xmlns"
    assert "<svg xmlns='http" not in body
    assert len(page.content) < 400_000


def test_what_is_no_text_shows_its_first_bytes(client):
    row = stash(b"\x89PNG\r\n\x1a\n" + bytes(5000))
    page = client.get(build_page_address(row))
    assert "8950 4e47" in read_part(page)
    assert "4,496 more bytes are not shown" in page.text
    assert "<select" not in page.text
    assert client.get(build_page_address(row), {"mode": "grep", "pattern": "x"}).status_code == 422


def test_many_uses_have_pages(client):
    row, *_others = [stash("x", session_id=f"s{n}") for n in range(45)]
    page = client.get(build_page_address(row))
    assert "Used 45 times" in page.text
    session_ids = set()
    while True:
        session_ids |= set(re.findall(r"sessions/(s\d+)/", page.text))
        if not (following := page.context["uses"].next):
            break
        page = client.get(build_page_address(row), {"after": following})
    assert len(session_ids) == 45
    assert client.get(build_page_address(row), {"after": "x"}).status_code == 409


@pytest.mark.parametrize(
    "name",
    [
        "0" * 64,
        "A" * 64,
        "ocm_artifact:v1:sha256:" + "0" * 64,
        "%2e%2e%2fsecret.key",
        "a%00b",
    ],
)
@pytest.mark.parametrize("end", ["", "download/"])
def test_what_is_no_artifact_is_said_so(client, name, end):
    page = client.get(f"/agents/ada/artifacts/{name}/{end}")
    assert page.status_code == 404


def test_another_agents_artifact_is_not_here(client):
    row = services.stash("agent_bob", "bob's")[0]
    page = client.get(build_page_address(row))
    assert page.status_code == 404
    assert "This agent has no artifact" in page.text
    assert client.get(build_page_address(row, "bob")).status_code == 200
    assert client.get(build_page_address(row, "nobody")).status_code == 404


def test_a_handle_in_the_address_is_as_good(client):
    row = stash("x")
    assert row.handle in client.get(f"/agents/ada/artifacts/{row.handle}/").text


def test_a_content_that_is_gone(client):
    row = stash("x")
    build_path(row).unlink()
    page = client.get(build_page_address(row))
    assert page.status_code == 410
    for words in ("is missing", "store the same content again", row.handle, "Used once"):
        assert words in page.text
    assert client.get(build_page_address(row), {"part": 1}, headers=HTMX).status_code == 422


def test_a_content_that_is_damaged(client):
    row = stash("a good content")
    build_path(row).chmod(0o600)
    build_path(row).write_text("an evil content")
    page = client.get(build_page_address(row))
    assert page.status_code == 409
    assert "is damaged" in page.text or "more data than was stored" in page.text
    assert "an evil" not in page.text
    assert "Store the same content again to repair the artifact" in page.text


def test_flagged_contents_can_be_looked_at(client):
    row = stash("the token is oc_1\n" * 3)
    page = client.get(build_page_address(row))
    assert "This artifact may contain secrets: Token (the word)." in page.text
    assert '<span class="badge badge--warn">Token (the word)</span>' in page.text
    assert "the token is" in read_part(page)
    assert ">Download (" not in page.text
    configuration.put("artifacts.flaggedKinds", ["jwt"])
    page = client.get(build_page_address(row))
    assert "may contain secrets" not in page.text
    assert ">Download (" in page.text


class TestChanges:
    def test_only_admins_see_them(self, client, boss):
        row = stash("x")
        assert "Remove references" not in client.get(build_page_address(row)).text
        assert "Remove references" in boss.get(build_page_address(row)).text

    def test_removing(self, client, boss):
        row = stash("x", session_id="s1")
        stash("x", session_id="s2")
        answer = boss.post(f"{build_page_address(row)}remove/", follow=True)
        assert "2 references were removed." in answer.text
        assert not Artifact.objects.using(DB).exists()
        assert client.get(build_page_address(row)).status_code == 404
        entry = AuditEntry.objects.get(action="artifact_removed")
        assert (entry.actor, entry.object_id, entry.agent_id) == ("root", row.handle, "ada")
        with blobs.open_blob(layout.get_root(), row.sha256) as blob:  # gc removes the content
            assert blob.stored_bytes == 1
        assert boss.post(f"{build_page_address(row)}remove/").status_code == 404

    def test_verifying(self, boss):
        row = stash("x")
        assert "Every byte was read" in boss.post(f"{build_page_address(row)}verify/", follow=True).text
        build_path(row).unlink()
        answer = boss.post(f"{build_page_address(row)}verify/", follow=True)
        assert "is missing" in answer.text
        assert AuditEntry.objects.filter(action="verified").count() == 2

    def test_it_says_when_transcripts_hold_it(self, boss):
        assert (
            "Imported transcripts contain this artifact"
            in boss.get(build_page_address(stash("x", session_id="s", record_id="r"))).text
        )
        assert "Imported transcripts contain this artifact" not in boss.get(build_page_address(stash("y"))).text


def test_opening_it_is_in_the_audit_log(client):
    row = stash("x")
    client.get(build_page_address(row))
    client.get(build_page_address(row), {"part": 1}, headers=HTMX)
    entry = AuditEntry.objects.get(action="read")
    assert (entry.actor, entry.object_type, entry.object_id, entry.agent_id) == (
        "stranger",
        "artifact",
        row.handle,
        "ada",
    )
