"""One artifact: what is known of it, parts of it, where it was used, and what admins do to it."""

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


def page_of(row, agent="ada"):
    return f"/agents/{agent}/artifacts/{row.sha256}/"


def part(response):
    """The text that a page shows of a content."""
    return unescape(re.search(r'<pre id="part-[^>]*>(.*?)</pre>', response.text, re.DOTALL)[1])


def path_of(row):
    """The file of a content."""
    return layout.get_root() / "blobs" / "sha256" / row.sha256[:2] / row.sha256[2:4] / f"{row.sha256}.txt"


def test_it_works(client):
    row = stash(LINES, session_id="s1", turn_id="s1:u1", record_id="r/2", tool="exec", tool_call_id="c")
    page = client.get(page_of(row))
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
    assert part(page).startswith("line 1:")
    assert part(page).endswith("line 2000: something was read here\n")
    assert re.search(r"Omitted in the middle: [\d,]+ characters\.", page.text)


def test_the_part_alone_is_for_htmx(client):
    row = stash(LINES)
    swapped = client.get(page_of(row), {"part": 1}, headers=HTMX)
    assert swapped.text.lstrip().startswith('<div class="look')
    assert "<html" in client.get(page_of(row), {"part": 1}).text
    assert "<html" in client.get(page_of(row), headers=HTMX).text


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({"mode": "range", "lines": "7:9"}, "line 7:", "here\n"),
        ({"mode": "grep", "pattern": "LINE 1999", "ignore_case": "on"}, "1999:line 1999", "here\n"),
        ({"mode": "grep", "pattern": "line 19:", "context": 1}, "18-line 18", "here\n"),
    ],
)
def test_every_mode(client, asked, first, last):
    row = stash(LINES, is_compressed=True)
    shown = part(client.get(page_of(row), asked))
    assert shown.startswith(first)
    assert shown.endswith(last)


def test_a_path(client):
    row = stash(orjson.dumps({"items": [{"name": "one"}, {"name": "two"}]}))
    page = client.get(page_of(row), {"mode": "jsonpath", "path": "$.items[*].name"})
    assert "2 matches" in page.text
    assert '"two"' in part(page)


def test_going_on_gives_everything_once(client):
    row = stash(LINES)
    seen, asked = "", f"{page_of(row)}?mode=head"
    while asked:
        page = client.get(asked)
        seen += part(page)
        found = re.search(r'href="([^"]*)"[^>]*rel="next">Show more', page.text)
        asked = unescape(found[1]) if found else None
    assert seen == LINES


def test_fields_of_other_modes_do_not_count(client):
    row = stash(LINES)
    asked = {"mode": "head", "lines": "x", "pattern": "(", "path": "?", "context": 3, "ignore_case": "on", "reason": ""}
    assert client.get(page_of(row), asked).status_code == 200


@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "grep", "pattern": "("},
        {"mode": "grep", "pattern": "a\x00b"},
        {"mode": "sideways"},
        {"mode": "head", "offset": "9" * 5000},
        {"max_chars": "many"},
        {"max_chars": 9000},
    ],
)
def test_what_cannot_be_asked_is_said_in_place(client, asked):
    row = stash(LINES)
    page = client.get(page_of(row), asked)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert row.handle in page.text
    assert client.get(page_of(row), {**asked, "part": 1}, headers=HTMX).status_code == 422


def test_more_than_usual_needs_a_reason_and_is_recorded(client):
    row = stash(LINES)
    page = client.get(page_of(row), {"max_chars": 12_000, "reason": "the whole log"})
    assert len(part(page)) == 12_000
    entry = AuditEntry.objects.get(action="fetched")
    assert (entry.actor, entry.object_id, entry.agent_id) == ("stranger", row.handle, "ada")
    assert orjson.loads(entry.detail_json)["reason"] == "the whole log"


@pytest.mark.parametrize("content", HOSTILE)
@pytest.mark.parametrize("mode", ["headtail", "head", "tail"])
def test_whatever_it_holds_is_only_text(client, content, mode):
    row = stash(content, session_id='"><script>x', record_id="<b>", tool="<i>\u202e")
    page = client.get(page_of(row), {"mode": mode})
    assert page.status_code == 200
    body = page.text.partition("<main")[2]
    for evil in ("<script", "<svg xmlns", "<img", "<i>", "<b>", "\u202e", "\x07", "onload=x>"):
        assert evil not in body.replace("<svg xmlns='http", "<svg xmlns") or evil == "<svg xmlns"
    assert "<svg xmlns='http" not in body
    assert len(page.content) < 400_000


def test_what_is_no_text_shows_its_first_bytes(client):
    row = stash(b"\x89PNG\r\n\x1a\n" + bytes(5000))
    page = client.get(page_of(row))
    assert "8950 4e47" in part(page)
    assert "4,496 more bytes are not shown" in page.text
    assert "<select" not in page.text
    assert client.get(page_of(row), {"mode": "grep", "pattern": "x"}).status_code == 422


def test_many_uses_have_pages(client):
    row, *_others = [stash("x", session_id=f"s{n}") for n in range(45)]
    page = client.get(page_of(row))
    assert "Used 45 times" in page.text
    found = set()
    while True:
        found |= set(re.findall(r"sessions/(s\d+)/", page.text))
        if not (following := page.context["uses"].next):
            break
        page = client.get(page_of(row), {"after": following})
    assert len(found) == 45
    assert client.get(page_of(row), {"after": "x"}).status_code == 409


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
    page = client.get(page_of(row))
    assert page.status_code == 404
    assert "This agent has no artifact" in page.text
    assert client.get(page_of(row, "bob")).status_code == 200
    assert client.get(page_of(row, "nobody")).status_code == 404


def test_a_handle_in_the_address_is_as_good(client):
    row = stash("x")
    assert row.handle in client.get(f"/agents/ada/artifacts/{row.handle}/").text


def test_a_content_that_is_gone(client):
    row = stash("x")
    path_of(row).unlink()
    page = client.get(page_of(row))
    assert page.status_code == 410
    for words in ("is missing", "store the same content again", row.handle, "Used once"):
        assert words in page.text
    assert client.get(page_of(row), {"part": 1}, headers=HTMX).status_code == 422


def test_a_content_that_is_damaged(client):
    row = stash("a good content")
    path_of(row).chmod(0o600)
    path_of(row).write_text("an evil content")
    page = client.get(page_of(row))
    assert page.status_code == 409
    assert "is damaged" in page.text or "more data than was stored" in page.text
    assert "an evil" not in page.text
    assert "Store the same content again to repair the artifact" in page.text


def test_flagged_contents_can_be_looked_at(client):
    row = stash("the token is oc_1\n" * 3)
    page = client.get(page_of(row))
    assert "This artifact may contain secrets: Token (the word)." in page.text
    assert '<span class="badge badge--warn">Token (the word)</span>' in page.text
    assert "the token is" in part(page)
    assert ">Download (" not in page.text
    configuration.put("artifacts.flaggedKinds", ["jwt"])
    page = client.get(page_of(row))
    assert "may contain secrets" not in page.text
    assert ">Download (" in page.text


class TestChanges:
    def test_only_admins_see_them(self, client, boss):
        row = stash("x")
        assert "Remove references" not in client.get(page_of(row)).text
        assert "Remove references" in boss.get(page_of(row)).text

    def test_removing(self, client, boss):
        row = stash("x", session_id="s1")
        stash("x", session_id="s2")
        answer = boss.post(f"{page_of(row)}remove/", follow=True)
        assert "2 references were removed." in answer.text
        assert not Artifact.objects.using(DB).exists()
        assert client.get(page_of(row)).status_code == 404
        entry = AuditEntry.objects.get(action="artifact_removed")
        assert (entry.actor, entry.object_id, entry.agent_id) == ("root", row.handle, "ada")
        with blobs.open_blob(layout.get_root(), row.sha256) as blob:  # gc removes the content
            assert blob.stored_bytes == 1
        assert boss.post(f"{page_of(row)}remove/").status_code == 404

    def test_verifying(self, boss):
        row = stash("x")
        assert "Every byte was read" in boss.post(f"{page_of(row)}verify/", follow=True).text
        path_of(row).unlink()
        answer = boss.post(f"{page_of(row)}verify/", follow=True)
        assert "is missing" in answer.text
        assert AuditEntry.objects.filter(action="verified").count() == 2

    def test_it_says_when_transcripts_hold_it(self, boss):
        assert (
            "Imported transcripts contain this artifact"
            in boss.get(page_of(stash("x", session_id="s", record_id="r"))).text
        )
        assert "Imported transcripts contain this artifact" not in boss.get(page_of(stash("y"))).text


def test_opening_it_is_in_the_audit_log(client):
    row = stash("x")
    client.get(page_of(row))
    client.get(page_of(row), {"part": 1}, headers=HTMX)
    entry = AuditEntry.objects.get(action="read")
    assert (entry.actor, entry.object_type, entry.object_id, entry.agent_id) == (
        "stranger",
        "artifact",
        row.handle,
        "ada",
    )
