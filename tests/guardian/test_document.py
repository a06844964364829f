"""The page of a memory file as a document with the write of each passage, and the API of its lines."""

import re
from html import unescape
from itertools import pairwise
from urllib.parse import quote

import pytest
from django.utils.html import strip_tags

from guardian import services
from guardian.models import FileSnapshot
from openclaw_web.diffs import text_excerpts
from tests.guardian.write_rows import T0, create_write, remove_unreported
from tests.ledger.transcript_records import get_text, store_session, working_turns

DB = "agent_ada"
URL, API = "/agents/ada/files/MEMORY.md/", "/api/v1/agents/ada/guardian/files/MEMORY.md/blame"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turn(ada):
    return store_session(*working_turns(1), session_id="s1").turns.get()


def read_passages(page: str) -> list[tuple[str, str]]:
    """The edge and the text of each passage of a page, as words."""
    table = page.partition('<table class="doc"')[2].partition("</table>")[0]
    rows = re.findall(
        r'<td class="doc__edge">(.*?)</td>\s*<td class="doc__text[^>]*>(.*?)</td>\s*</tr>', table, re.DOTALL
    )
    return [
        tuple(" ".join(unescape(strip_tags(part.replace("<div", " <div"))).split()) for part in row) for row in rows
    ]


def test_each_passage_leads_to_its_write(as_stranger, turn):
    type(turn).objects.using(DB).update(user_metadata='{"sender": "Ben Koh"}')
    create_write(DB, 1, b"# Old\n", b"# Old\n\n- *tea*\n- milk\n", turn_id=turn.id)
    create_write(DB, 2, b"# Old\n\n- *tea*\n- milk\n", b"# Old\n\n- *tea*\n- milk\n- salt\n", rule_id="r1")
    page = get_text(as_stranger.get(URL))
    assert "4 of 5 lines were added by 2 writes since" in page
    edges = read_passages(page)
    assert [text for _edge, text in edges] == ["Old", "tea milk", "salt"]
    assert edges[0][0] == "Before the first known write"
    assert edges[1][0].startswith("Ben Koh ") and edges[2][0].startswith("Not known ") and "Rule" in edges[2][0]
    assert "<li><em>tea</em></li>" in page and 'id="L3"' in page
    assert '<a href="/agents/ada/writes/w1/">Ben Koh</a>' in page and "data-rows" in page
    assert f"?record={turn.user_message_id}#r-" in get_text(as_stranger.get("/agents/ada/writes/w1/"))


def test_a_part_of_several_writes_has_all_of_their_authors(as_stranger, ada):
    rows = [b"| a | b |\n|---|---|\n"]
    for number in range(1, 6):
        rows.append(rows[-1] + b"| %d | x |\n" % number)
        create_write(DB, number, rows[-2], rows[-1])
    ((edge, _text),) = read_passages(get_text(as_stranger.get(URL)))
    assert edge.count("Not known") == 3 and "and 3 more" in edge


SHAPES = {
    "a line twice": (b"- tea\n- milk\n", b"- tea\n- milk\n- tea\n", ["tea milk", "tea"]),
    "crlf, no end": (b"one\r\n\r\n", b"one\r\n\r\ntwo", ["one", "two"]),
    "nested": (b"1. a\n", b"1. a\n   - b\n     - c\n2. d\n", ["a", "b c d"]),
    "code": (b"x\n", b"x\n\n```\n# no <b>\n\n- y\n```\n", ["x", "# no <b> - y"]),
    "deep": (
        b"x\n",
        b"x\n\n" + b"".join(b"  " * n + b"- %d\n" % n for n in range(9)),
        ["x", "0 1 2 3 - 4 - 5 - 6 - 7 - 8"],
    ),
    "script": (
        b"x\n",
        b"x\n\n<script>alert(1)</script> ![i](http://e.x/y.png)\n",
        ["x", "<script>alert(1)</script> !i"],
    ),
    "costly": (b"x\n\n", b"x\n\n" + b"*a" * 2_000, ["x", "*a" * 2_000]),
    "blank": (b"x\n", b"\n\n", ["1 2"]),  # as exact text, with the numbers of its lines
    "chinese": ("早。\n\n".encode(), "早。\n\n**茶**\n".encode(), ["早。", "茶"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_file_is_shown_whole(as_stranger, ada, shape):
    before, after, texts = SHAPES[shape]
    create_write(DB, 1, before, after)
    page = get_text(as_stranger.get(URL))
    assert [text for _edge, text in read_passages(page)] == texts
    assert "<script>alert" not in page and "<img" not in page
    exact = [
        line.partition("\n")[0].strip()
        for line in re.findall(r'lines__text">([^<]*)', get_text(as_stranger.get(f"{URL}?exact=on")))
    ]
    assert [unescape(line) for line in exact] == [
        line.strip()[:4_000] for line in after.decode().split("\n")[: len(exact)]
    ]


def test_a_text_that_takes_too_long_is_shown_as_it_is(as_stranger, ada):
    create_write(DB, 1, None, b"|" * 3_000 + b"\n" + b"|-" * 1_500 + b"\n" + b"|\n" * 50)
    page = get_text(as_stranger.get(URL))
    assert "too long or too dense" in page and 'id="L52"' in page


def test_a_version_has_the_authors_of_its_time(as_stranger, ada):
    """Also where the file came back to a text that it had before."""
    states = [b"- tea\n", b"- tea\n- milk\n", b"- tea\n"]
    for number, (before, after) in enumerate(pairwise([None, *states]), start=1):
        create_write(DB, number, before, after)
    page = get_text(as_stranger.get(f"{URL}?at=2"))
    assert "Version 2 of 3" in page and 'max="3" value="2"' in page and ">Newest version</a>" in page
    assert [text for _edge, text in read_passages(page)] == ["tea", "milk"] and "/writes/w2/" in page
    first = FileSnapshot.objects.using(DB).order_by("created_at").first()
    for query in ("at=1", f"version={quote(first.id)}"):
        page = get_text(as_stranger.get(f"{URL}?{query}"))
        table = page.partition('<table class="doc"')[2].partition("</table>")[0]
        assert "Version 1 of 3" in page and "/writes/w1/" in table and "/writes/w3/" not in table
    assert "Version 3 of 3" in get_text(as_stranger.get(f"{URL}?at=99"))
    assert as_stranger.get(f"{URL}?at=0").status_code == 404


def test_a_slider_of_many_versions_has_the_newest(as_stranger, ada, monkeypatch):
    monkeypatch.setattr("guardian.versions.COUNTED_UP_TO", 3)
    for number in range(5):
        services.store_version(DB, "MEMORY.md", b"state %d\n" % number, modified_ms=T0 + number)
    page = get_text(as_stranger.get(f"{URL}?at=1"))
    assert "Version 1 of 3" in page and "state 2" in page and "only the newest ones (3)" in page
    oldest = FileSnapshot.objects.using(DB).order_by("created_at").first()
    page = get_text(as_stranger.get(URL, {"version": oldest.id}))
    assert "state 0" in page and "Version 1 of 3" in page


def test_htmx_gets_the_version_alone(as_stranger, ada):
    create_write(DB, 1, None, b"tea\n"), create_write(DB, 2, b"tea\n", b"tea\nmilk\n")
    part = get_text(as_stranger.get(f"{URL}?at=1", headers={"HX-Request": "true"}))
    assert part.strip().startswith('<div id="list-part"') and "Version 1 of 2" in part and 'id="versions"' not in part


def test_lines_are_searched_for(as_stranger, ada):
    create_write(DB, 1, b"", b"Green TEA\nmilk\nblack tea\n")
    page = get_text(as_stranger.get(f"{URL}?q=tea"))
    assert "2 of 3 lines contain these words." in page and "milk" not in page
    assert 'href="?line=3#L3"' in page and 'href="?line=1#L1"' in page
    page = get_text(as_stranger.get(f"{URL}?q=coffee&line=2"))
    assert "0 of 3 lines contain these words." in page and "The file is empty." not in page


def test_memory_opens_with_the_document_of_the_agent(as_stranger, ada):
    assert f'href="{URL}"' in get_text(as_stranger.get("/agents/ada/gate/"))
    assert f'href="{URL}"' not in get_text(as_stranger.get("/gate/"))
    page = get_text(as_stranger.get(URL))
    assert "No version of this file yet" in page and 'aria-label="Memory files"' not in page
    create_write(DB, 1, None, b"tea\n", target_file="USER.md")
    other = URL.replace("MEMORY", "USER")
    assert f'href="{other}">USER.md</a>' in get_text(as_stranger.get(URL))
    create_write(DB, 2, None, b"tea\n")
    page = get_text(as_stranger.get(other))
    assert f'href="{URL}">MEMORY.md</a>' in page and f'href="{other}" aria-current="page">USER.md</a>' in page
    assert as_stranger.get(URL.replace("MEMORY", "AGENTS")).status_code == 404


@pytest.mark.parametrize("old", ["writes/blame", "writes/history"])
def test_old_addresses_lead_to_the_page(as_stranger, ada, old):
    address = URL.replace("files", old)
    assert as_stranger.get(f"{address}?line=4&q=tea").url == f"{URL}?line=4&q=tea"
    assert as_stranger.get(address).url == URL
    assert as_stranger.get(address.replace("MEMORY", "AGENTS")).status_code == 404


def test_what_is_not_known_is_said(as_stranger, ada):
    services.store_version(DB, "MEMORY.md", b"one\n", modified_ms=T0)
    assert "Not known: there before the first import" in get_text(as_stranger.get(URL))
    create_write(DB, 1, b"one\n", b"one\ntwo\n")
    services.store_version(DB, "MEMORY.md", b"one\ntwo\nthree\n", modified_ms=T0 + 9**9)
    page = get_text(as_stranger.get(URL))
    assert "Versions are missing between some writes" in page and "Changed after" in page
    for number in range(2, 30):
        create_write(DB, number, b"a %d\n" % number, b"b %d\n" % number)
    remove_unreported(DB)
    assert "Earlier writes were not followed" in get_text(as_stranger.get(URL))


def test_the_api_tells_runs(as_stranger, turn):
    create_write(DB, 1, b"old\n", b"old\ntea\nmilk\n", turn_id=turn.id)
    services.store_version(DB, "MEMORY.md", b"old\ntea\nmilk\nnew\n", modified_ms=T0 + 9**9)
    answer = as_stranger.get(API).json()
    assert [(run["first"], run["last"], run["known"]) for run in answer["runs"]] == [
        (1, 1, "before"),
        (2, 3, "write"),
        (4, 4, "gap"),
    ]
    run, gap = answer["runs"][1:]
    assert (run["audit_id"], run["turn_id"], run["message_id"]) == ("w1", turn.id, turn.user_message_id)
    assert (gap["since"], gap["until"], answer["line_count"]) == (T0 + 1000, None, 4)


def test_a_long_file_is_shown_in_pieces(as_stranger, ada):
    lines = b"".join(b"- line %d\n" % number for number in range(1, text_excerpts.LINES + 3))
    create_write(DB, 1, None, lines)
    page = get_text(as_stranger.get(f"{URL}?line=9"))
    assert f"?line={text_excerpts.LINES + 1}" in page and 'id="L1"' in page
    assert f'id="L{text_excerpts.LINES + 1}"' not in page
    rest = get_text(as_stranger.get(f"{URL}?line={text_excerpts.LINES + 1}"))
    assert rest.count('class="doc__block"') == 2 and f"line {text_excerpts.LINES + 2}</li>" in rest
    assert f'id="L{text_excerpts.LINES + 2}"' in rest
    for line in (text_excerpts.LINES + 9, "x", "0"):
        assert as_stranger.get(f"{URL}?line={line}").status_code == 404


def test_other_files_and_other_agents_have_none(as_stranger, ada, bob):
    create_write(DB, 1, None, b"")
    assert "The file is empty." in get_text(as_stranger.get(URL))
    for address in (URL.replace("ada", "bob"), URL.replace("MEMORY", "USER")):
        assert "No version of this file yet" in get_text(as_stranger.get(address))
    assert as_stranger.get(URL.replace("MEMORY", "AGENTS")).status_code == 404
    assert as_stranger.get(API.replace("ada", "bob")).status_code == 404
